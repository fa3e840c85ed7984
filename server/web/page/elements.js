// Helpers that make elements. Text is always inserted as text nodes, never as markup.

import { formatDuration } from './words.js';

export const byId = (id) => document.getElementById(id);

// Returns a new element: element('p', { class: 'quiet' }, 'text', anotherElement).
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Returns the time since `at`, which is in milliseconds since the daemon started. tick() keeps it current.
export function since(at, suffix = '') {
  return element('span', { class: 'duration', 'data-since': at, 'data-suffix': suffix });
}

export function tick(root, now) {
  for (const node of root.querySelectorAll('[data-since]')) {
    setText(node, formatDuration(now - Number(node.dataset.since)) + node.dataset.suffix);
  }
}

// Returns a table whose first column names the row. `columns`: { title, cell(row), number }.
export function table(caption, columns, rows, rowClass = () => null) {
  const head = element('tr', {}, ...columns.map((column) => element('th', { scope: 'col', class: column.number && 'number' }, column.title)));
  const body = rows.map((row) => element('tr', { class: rowClass(row) }, ...columns.map((column, index) => {
    const attributes = { class: column.number && 'number', 'data-title': column.title };
    if (index === 0) attributes.scope = 'row';
    return element(index === 0 ? 'th' : 'td', attributes, column.cell(row));
  })));
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
    element('table', {}, element('caption', {}, caption), element('thead', {}, head), element('tbody', {}, ...body)));
}

// Replaces the content of `parent`. The focus moves to the new element with the same key.
export function replace(parent, ...children) {
  const key = parent.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  parent.replaceChildren(...children);
  if (key === undefined) return;
  for (const node of parent.querySelectorAll('[data-key]')) {
    if (node.dataset.key === key) node.focus({ preventScroll: true });
  }
}
