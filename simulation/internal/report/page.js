// Shows the picture of a cell that the reader opens, and opens what a link leads to. Without it links
// still lead there, and the reader opens it; the command beside a cell plays its run.
(function () {
  var data = document.getElementById('runs');
  var runs = !data ? Promise.resolve([]) : new Response(new Blob([Uint8Array.from(atob(data.textContent), function (c) {
    return c.charCodeAt(0);
  })]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
  function show(box) {
    if (!box.dataset.run || box.dataset.shown) return;
    box.dataset.shown = 'yes';
    runs.then(function (all) {
      var div = document.createElement('div');
      div.className = 'sketch';
      div.innerHTML = all[box.dataset.run];
      box.appendChild(div);
    });
  }
  document.addEventListener('toggle', function (e) {
    if (e.target.open) show(e.target);
  }, true);
  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    var box = target && target.closest('details');
    if (!box) return;
    box.open = true;
    show(box);
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
