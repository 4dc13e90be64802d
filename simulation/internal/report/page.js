// Shows the runs that the reader opens, and opens what a link leads to. Without it links still lead
// there, and the reader opens it; the command beside a run plays it.
(function () {
  var data = document.getElementById('runs');
  var runs = !data ? Promise.resolve([]) : new Response(new Blob([Uint8Array.from(atob(data.textContent), function (c) {
    return c.charCodeAt(0);
  })]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
  function step(words) {
    var item = document.createElement('li'), time = document.createElement('time'), text = document.createElement('span');
    time.textContent = words[0];
    text.className = words[2] || '';
    text.textContent = (words[2] === 'alarm' ? '!! ' : '') + words[1];
    item.append(time, text);
    return item;
  }
  function show(box) {
    var places = [].slice.call(box.querySelectorAll('[data-run]'));
    if (box.dataset.run) places.push(box);
    places.forEach(function (place) {
      if (place.dataset.shown) return;
      place.dataset.shown = 'yes';
      runs.then(function (all) {
        var run = all[place.dataset.run], div = document.createElement('div');
        div.className = 'sketch';
        div.innerHTML = run.svg + '<p class="note">Its steps up to there, in ms:</p><ol class="story"></ol>';
        div.lastChild.append.apply(div.lastChild, run.steps.map(step));
        place.appendChild(div);
      });
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
