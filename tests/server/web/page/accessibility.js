// Rules for every page, after WCAG 2.1 AA. Returns the list of violations.
// eslint-disable-next-line no-unused-vars
function problems() {
  const found = [];
  // A color in the middle of an animation is not final, so end the animations first.
  for (const animation of document.getAnimations()) animation.finish();
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (node) => node.checkVisibility({ visibilityProperty: true }) && node.getClientRects().length > 0;
  const brief = (node) => node.outerHTML.slice(0, 120);
  const expect = (right, what, node) => right || found.push(node ? `${what}: ${brief(node)}` : what);

  // Landmarks, headings, identifiers.
  expect(document.documentElement.lang, 'the page has no language');
  expect(document.title, 'the page has no title');
  for (const landmark of ['header', 'main', 'footer']) expect(all(landmark).length === 1, `not one ${landmark}`);
  let level = 0;
  for (const heading of all('h1, h2, h3, h4').filter(shown)) {
    const its = Number(heading.tagName[1]);
    expect(its <= level + 1, `a heading of level ${its} follows one of level ${level}`, heading);
    expect(heading.textContent.trim(), 'an empty heading', heading);
    level = its;
  }
  expect(all('h1').length === 1, 'not one h1');
  const ids = all('[id]').map((node) => node.id);
  expect(new Set(ids).size === ids.length, 'an id is there twice');
  for (const attribute of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for']) {
    for (const node of all(`[${attribute}]`)) {
      for (const id of node.getAttribute(attribute).split(/\s+/)) expect(document.getElementById(id), `${attribute} leads nowhere`, node);
    }
  }
  for (const section of all('section')) expect(section.hasAttribute('aria-labelledby'), 'a section without a name', section);

  // Tables, pictures, lists.
  for (const table of all('table')) {
    expect(table.caption?.textContent.trim(), 'a table without a caption', table);
    for (const head of table.querySelectorAll('th')) expect(head.scope, 'a heading of a table without a scope', head);
  }
  for (const picture of all('svg, img')) expect(picture.getAttribute('role') === 'img' && picture.getAttribute('aria-label'), 'a picture without a name', picture);
  for (const list of all('ul, ol')) expect([...list.children].every((child) => child.tagName === 'LI'), 'a list of other things', list);

  // The grid.
  for (const grid of all('[role=grid]')) {
    expect(grid.getAttribute('aria-label'), 'a grid without a name', grid);
    expect([...grid.children].every((row) => row.getAttribute('role') === 'row'), 'a grid of other things than rows', grid);
    const cells = [...grid.querySelectorAll('[role=gridcell]')];
    const nameless = cells.filter((cell) => !cell.getAttribute('aria-label') || !cell.textContent.trim());
    expect(!nameless.length, 'a cell without a name or a mark', nameless[0]);
    if (cells.some(shown)) expect(cells.filter((cell) => cell.tabIndex === 0).length === 1, 'Tab must lead to one cell');
  }

  found.push(...contrastProblems(shown, brief));
  expect(document.documentElement.scrollWidth <= document.documentElement.clientWidth, 'the page is wider than the window');
  return found;
}

function contrastProblems(shown, brief) {
  const found = new Map();  // one for each pair of colors
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let checked = 0;
  while (walker.nextNode() && checked < 4000) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(node) || node.closest('.unseen, .skip, title, noscript')) continue;
    checked += 1;
    const front = getComputedStyle(node).color;
    const back = background(node);
    const ratio = contrast(rgb(front), rgb(back));
    if (ratio < 4.5) found.set(`${front} on ${back}`, `contrast ${ratio.toFixed(2)}, ${front} on ${back}: ${brief(node)}`);
  }
  return [...found.values()];
}

function background(node) {
  for (let at = node; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (rgb(colour)[3] === 1) return colour;
  }
  return 'rgb(255, 255, 255)';
}

function rgb(colour) {
  const numbers = colour.match(/[\d.]+/g).map(Number);
  return [numbers[0], numbers[1], numbers[2], numbers.length > 3 ? numbers[3] : 1];
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour) {
  const [r, g, b] = colour.slice(0, 3).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
