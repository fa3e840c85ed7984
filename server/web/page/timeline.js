// The timeline of the last minutes, as a strip and as a list.

import { element, replace } from './elements.js';
import { quiet, when } from './sections.js';
import { formatDuration, many } from './words.js';

const SVG = 'http://www.w3.org/2000/svg';
const LONGEST = 15 * 60 * 1000;
const SHORTEST = 60 * 1000;
const FIRST = 20;
const KINDS = ['info', 'warning', 'error'];
const LANES = { error: 14, warning: 32, info: 50 };

export class Timeline {
  constructor(root) {
    this.root = root;
    this.all = false;
    this.width = 1000;
    this.strip = element('div', { class: 'strip' });
    this.list = element('div', {});
    root.append(this.strip, this.list);
    new ResizeObserver(([entry]) => this.resize(entry.contentRect.width)).observe(this.strip);
  }

  resize(width) {
    if (!width || width === this.width) return;
    this.width = width;
    if (this.drawn) this.drawStrip(...this.drawn);
  }

  draw(entries, now, clock) {
    this.drawStrip(entries, now);
    if (!entries.length) return replace(this.list, quiet('Nothing has happened yet.'));
    const latest = [...entries].reverse();
    const shown = this.all ? latest : latest.slice(0, FIRST);
    const items = shown.map(([at, kind, text]) => element('li', { class: KINDS[kind] },
      when(at, clock), ' ', element('b', { class: 'kind' }, KINDS[kind]), ' ', text));
    replace(this.list, element('ol', { class: 'events' }, ...items), latest.length > FIRST ? this.moreButton(latest.length, entries, now, clock) : '');
  }

  moreButton(number, entries, now, clock) {
    const button = element('button', { type: 'button', 'aria-expanded': `${this.all}`, 'data-key': 'more' }, this.all ? `Show the latest ${FIRST}` : `Show all ${number}`);
    button.addEventListener('click', () => {
      this.all = !this.all;
      this.draw(entries, now, clock);
    });
    return button;
  }

  // Draws the strip. The shape shows the severity: a diamond for errors, a triangle for warnings, a bar for the rest.
  drawStrip(entries, now) {
    this.drawn = [entries, now];
    const oldest = entries.length ? now - entries[0][0] : 0;
    const span = Math.min(Math.max(oldest * 1.05, SHORTEST), LONGEST);
    const shown = entries.filter(([at]) => now - at <= span);
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('viewBox', `0 0 ${this.width} 64`);
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', inBrief(shown, span));
    for (const [at, kind, text] of shown) svg.append(markOf(this.width * (1 - (now - at) / span), KINDS[kind], text));
    this.strip.replaceChildren(svg, element('p', { class: 'axis', 'aria-hidden': 'true' },
      element('span', {}, `${formatDuration(span)} ago`), element('span', {}, 'now')));
  }
}

function inBrief(shown, span) {
  const numbers = KINDS.map((kind, index) => [shown.filter((entry) => entry[1] === index).length, kind]).reverse();
  const words = numbers.filter(([number]) => number).map(([number, kind]) => (kind === 'info' ? many(number, 'other event') : many(number, kind)));
  return `The last ${formatDuration(span)}: ${words.join(', ') || 'nothing'}. The list below has the same.`;
}

function markOf(x, kind, text) {
  const y = LANES[kind];
  const shapes = {
    error: `M${x} ${y - 12} l10 12 l-10 12 l-10 -12 z`,
    warning: `M${x} ${y - 10} l9 18 h-18 z`,
    info: `M${x - 2} ${y - 8} h4 v20 h-4 z`,
  };
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', shapes[kind]);
  path.setAttribute('class', kind);
  const title = document.createElementNS(SVG, 'title');
  title.textContent = text;
  path.append(title);
  return path;
}
