/* SPDX-License-Identifier: GPL-3.0-or-later
 * What must hold of the page of a run that trains, as the dashboard serves it, see browser.py: complaints, in a list. */
(async () => {
  const wrong = [], must = (good, what) => { if (!good) wrong.push(what); };
  const step = () => Number(document.querySelector('[role=progressbar]').getAttribute('aria-valuenow'));
  const curve = () => document.querySelector('#loss .curve').getAttribute('d');
  must(document.documentElement.hasAttribute('data-live'), 'it is not a live page');
  must(document.documentElement.scrollWidth <= view.width, 'it is wider than the screen: ' + document.documentElement.scrollWidth);
  must(document.querySelectorAll('audio').length > 0, 'nothing to hear');
  const before = step(), shape = curve();
  for (let i = 0; i < 200 && step() <= before; i++) await new Promise(done => setTimeout(done, 100));
  must(step() > before, 'no steps come: ' + before);
  must(curve() !== shape, 'the curve of the loss does not grow');
  must(document.getElementById('live').classList.contains('now'), 'it does not say that it is live');
  must(!/undefined|NaN|\[object|\{0\}/.test(document.body.innerText), 'a value is missing');
  return wrong;
})()
