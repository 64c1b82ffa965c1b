/* SPDX-License-Identifier: GPL-3.0-or-later
 * Checks of the live page that the dashboard serves during training, see browser.py: returns a list of complaints. */
(async () => {
  const wrong = [], must = (good, what) => { if (!good) wrong.push(what); };
  const step = () => Number(document.querySelector('[role=progressbar]').getAttribute('aria-valuenow'));
  const curve = () => document.querySelector('#loss .curve').getAttribute('d');
  must(document.documentElement.hasAttribute('data-live'), 'it is not a live page');
  must(document.documentElement.scrollWidth <= view.width, 'the page is wider than the screen: ' + document.documentElement.scrollWidth);
  must(document.querySelectorAll('audio').length > 0, 'nothing to hear');
  const before = step(), shape = curve();
  for (let i = 0; i < 200 && step() <= before; i++) await new Promise(done => setTimeout(done, 100));
  must(step() > before, 'the step does not advance: ' + before);
  must(curve() !== shape, 'the curve of the loss does not grow');
  must(document.getElementById('live').classList.contains('now'), 'it does not say that it is live');
  must(!/undefined|NaN|\[object|\{0\}/.test(document.body.innerText), 'a value is missing');
  return wrong;
})()
