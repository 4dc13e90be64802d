// Draws the runs that the reader opens, and opens what a link leads to. Without it links
// still lead there, and the reader opens it; the command beside a run plays it.
(function () {
  var data = document.getElementById('runs');
  var runs = data ? JSON.parse(data.textContent) : [];
  function escaped(text) {
    return text.replace(/[&<>"]/g, function (c) { return '&#' + c.charCodeAt(0) + ';'; });
  }
  function drawing(run) {
    var out = '<svg class="rl-k" role="img" aria-label="The run as a drawing; its steps are below" viewBox="0 0 400 ' + run.h + '">';
    run.s.forEach(function (s) {
      var at = ' class="' + s[0] + '" x="' + s[1] + '" y="' + s[2] + '"';
      if (typeof s[3] === 'string') {
        out += '<text' + at + '>' + escaped(s[3]) + '</text>';
      } else {
        out += '<rect' + at + ' width="' + s[3] + '" height="' + s[4] + '"' + (s[0].charAt(0) === 'd' ? ' rx="' + s[3] / 2 + '"' : '') + '/>';
      }
    });
    return out + '</svg>';
  }
  function told(run) {
    var classes = {a: ' class="alarm"', f: ' class="fault"'};
    return run.t.map(function (step) {
      return '<li><time>' + step[0] + '</time><span' + (classes[step[2]] || '') + '>' + (step[2] === 'a' ? '!! ' : '') + escaped(step[1]) + '</span></li>';
    }).join('');
  }
  function show(box) {
    var places = [].slice.call(box.querySelectorAll('[data-run]'));
    if (box.dataset.run) places.push(box);
    places.forEach(function (place) {
      var run = runs[place.dataset.run];
      if (place.dataset.drawn) return;
      place.dataset.drawn = 'yes';
      var div = document.createElement('div');
      div.className = 'sketch';
      div.innerHTML = run ? drawing(run) + '<p class="note">Its steps up to there, in ms:</p><ol class="story">' + told(run) + '</ol>' :
        '<p class="note">This page has no room for this run. The command plays it.</p>';
      place.appendChild(div);
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
