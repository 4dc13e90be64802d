// Opens the timeline that a link leads to. Without it the link still leads there,
// and the reader opens it.
(function () {
  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    var box = target && target.closest('details');
    if (!box) return;
    box.open = true;
    box.scrollIntoView();
    box.querySelector('summary').focus({preventScroll: true});
  }
  addEventListener('hashchange', reveal);
  document.addEventListener('click', function (e) {
    var link = e.target.closest && e.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) reveal();
  });
  reveal();
})();
