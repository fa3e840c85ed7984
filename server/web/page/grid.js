// The grid of ranks: a row for each node, a cell for each rank. There may be ten thousand cells, so they are made and
// changed in slices, which keeps frames short. Cells that have not changed are not touched.

import { element } from './elements.js';
import { lookOf } from './words.js';

const SLICE = 10; // milliseconds of a frame
const NUMBERED = 1024; // so many cells show their rank, too

export class Grid {
  constructor(root, onChoose) {
    this.root = root;
    this.onChoose = onChoose;
    this.rows = new Map(); // by node
    this.current = null; // the cell that Tab leads to
    root.addEventListener('click', (event) => this.choose(event.target.closest('[role=gridcell]')));
    root.addEventListener('keydown', (event) => this.onKey(event));
    root.addEventListener('focusin', (event) => this.makeCurrent(event.target.closest('[role=gridcell]')));
    root.addEventListener('pointerover', (event) => nameCell(event.target.closest('[role=gridcell]')));
  }

  // Draws the members for which `shows(member)` is true. Resolves when all cells are drawn.
  draw(model, shows) {
    this.dense = model.members.length > NUMBERED;
    this.root.classList.toggle('dense', this.dense);
    this.root.setAttribute('aria-rowcount', model.nodes.size);
    this.dropRows(model);
    const steps = [...model.nodes];
    clearTimeout(this.timer);
    return new Promise((resolve) => {
      const slice = () => {
        const end = performance.now() + SLICE;
        while (steps.length && performance.now() < end) this.drawRow(...steps.shift(), shows);
        if (steps.length) {
          this.timer = setTimeout(slice, 0);
          return;
        }
        this.order([...model.nodes.keys()]);
        this.keepCurrent();
        resolve();
      };
      slice();
    });
  }

  dropRows(model) {
    for (const [node, row] of this.rows) {
      if (model.nodes.has(node)) continue;
      row.element.remove();
      this.rows.delete(node);
    }
  }

  drawRow(node, members, shows) {
    let row = this.rows.get(node);
    if (!row) {
      row = { cells: [], element: element('div', { role: 'row', class: 'node' }) };
      row.element.append(element('span', { role: 'rowheader', title: members[0].nodeId }, node || 'no node'));
      this.rows.set(node, row);
      this.root.append(row.element);
    }
    while (row.cells.length > members.length) row.cells.pop().element.remove();
    let shown = 0;
    members.forEach((member, index) => {
      const cell = row.cells[index] ?? newCell(row);
      drawCell(cell, member, shows(member), this.dense);
      shown += !cell.element.hidden;
    });
    if (row.element.hidden !== (shown === 0)) row.element.hidden = shown === 0;
  }

  order(nodes) {
    let at = this.root.firstElementChild;
    for (const node of nodes) {
      const row = this.rows.get(node).element;
      if (row === at) at = at.nextElementSibling;
      else this.root.insertBefore(row, at);
    }
  }

  keepCurrent() {
    if (this.current?.isConnected && isShown(this.current)) return;
    const first = this.visibleRows()[0];
    this.makeCurrent(first ? visibleCells(first)[0] : null);
  }

  makeCurrent(cell) {
    if (cell === this.current) return;
    this.current?.removeAttribute('tabindex');
    this.current = cell;
    if (cell) cell.tabIndex = 0;
  }

  // Moves the focus to a cell. Returns false if the cell does not exist or is hidden.
  focus(key) {
    const cell = this.root.querySelector(`[data-member="${CSS.escape(key)}"]`);
    if (!cell || !isShown(cell)) return false;
    this.goTo(cell);
    return true;
  }

  select(key) {
    this.root.querySelector('[aria-selected]')?.removeAttribute('aria-selected');
    if (key) this.root.querySelector(`[data-member="${CSS.escape(key)}"]`)?.setAttribute('aria-selected', 'true');
  }

  goTo(cell) {
    this.makeCurrent(cell);
    nameCell(cell);
    cell.focus();
  }

  choose(cell) {
    if (!cell) return;
    this.makeCurrent(cell);
    this.onChoose(cell.dataset.member);
  }

  visibleRows() {
    return [...this.root.children].filter((row) => !row.hidden);
  }

  onKey(event) {
    const cell = event.target.closest('[role=gridcell]');
    if (!cell || event.altKey || event.metaKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.choose(cell);
      return;
    }
    const target = this.targetOf(event, cell);
    if (target === undefined) return;
    event.preventDefault();
    if (target) this.goTo(target);
  }

  // Returns the cell that a key moves to, null if there is none, and undefined if the key has no meaning here.
  targetOf(event, cell) {
    const row = cell.parentElement;
    const cells = visibleCells(row);
    const column = cells.indexOf(cell);
    const ends = { Home: 0, End: cells.length - 1 };
    if (event.key in ends) return event.ctrlKey ? this.corner(event.key) : cells[ends[event.key]];
    if (event.key === 'ArrowRight') return cells[column + 1] ?? this.inRow(row, 1, () => 0);
    if (event.key === 'ArrowLeft') return cells[column - 1] ?? this.inRow(row, -1, (other) => other.length - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (!(event.key in steps)) return undefined;
    return this.inRow(row, steps[event.key], (other) => Math.min(column, other.length - 1));
  }

  inRow(row, step, columnOf) {
    const rows = this.visibleRows();
    const at = Math.min(Math.max(rows.indexOf(row) + step, 0), rows.length - 1);
    if (rows[at] === row) return null;
    const cells = visibleCells(rows[at]);
    return cells[columnOf(cells)];
  }

  corner(key) {
    const rows = this.visibleRows();
    const cells = visibleCells(key === 'Home' ? rows[0] : rows[rows.length - 1]);
    return key === 'Home' ? cells[0] : cells[cells.length - 1];
  }
}

// Returns whether the cell is shown. Does not cause a layout, which takes long with ten thousand cells.
function isShown(cell) {
  return !cell.hidden && !cell.parentElement.hidden;
}

function visibleCells(row) {
  return [...row.children].filter((cell) => !cell.hidden && cell.getAttribute('role') === 'gridcell');
}

function newCell(row) {
  const cell = { mark: document.createTextNode(''), number: document.createTextNode(''), key: null };
  cell.element = element('span', { role: 'gridcell' }, element('b', {}, cell.mark), cell.number);
  row.element.append(cell.element);
  row.cells.push(cell);
  return cell;
}

function drawCell(cell, member, shown, dense) {
  const node = cell.element;
  if (cell.key !== member.key || cell.dense !== dense) {
    cell.key = node.dataset.member = member.key;
    cell.dense = dense;
    cell.number.data = dense || member.rank === null ? '' : `${member.rank}`;
    cell.look = null;
  }
  if (cell.look !== member.look) {
    cell.look = node.dataset.look = member.look;
    cell.mark.data = lookOf(member.look).mark;
    node.setAttribute('aria-label', `${member.name}: ${lookOf(member.look).word}`);
    node.removeAttribute('title');
  }
  if (node.hidden === shown) node.hidden = !shown;
}

// Gives the cell a tooltip when the pointer is first over it.
function nameCell(cell) {
  if (cell && !cell.title) cell.title = cell.getAttribute('aria-label');
}
