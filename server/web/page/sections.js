// The sections above and below the grid.

import { activityOf } from './detail.js';
import { element, since, table } from './elements.js';
import { nodeName } from './model.js';
import { count, formatDuration, formatRanks, lookOf, LOOKS, many } from './words.js';

const MOST_WAITS = 20;
const MOST_NAMED = 6;

// Returns a button that shows the details of a rank.
export function rankButton(rank, where) {
  return element('button', { type: 'button', class: 'rank', 'data-choose': `rank-${rank}`, 'data-key': `${where}-${rank}` }, `rank ${rank}`);
}

export function facts(status) {
  const size = status.world === 0 ? 'not known yet' : `${status.world}`;
  const elastic = status.most ? ` (elastic, ${status.least} to ${status.most})` : '';
  const rows = [
    ['World size', [size + elastic]],
    ['Epoch', [status.epoch ?? 'none yet']],
    ['Up', [since(0)]],
    ['musterd', [status.daemon]],
    ['Refused calls', [`${status.refused}`]],
  ];
  if (status.newcomers) rows.push(['Newcomers waiting', [`${status.newcomers}`]]);
  if (status.stop) rows.push(['Stop', ['requested']]);
  return rows.map(([term, what]) => element('div', {}, element('dt', {}, term), element('dd', {}, ...what)));
}

export function waits(model) {
  const cards = [...verdict(model.status), ...model.status.disagreements.map(disagreement)];
  cards.push(...model.stuck.slice(0, MOST_WAITS).map((pending, index) => waitCard(model, pending, index)));
  if (model.stuck.length > MOST_WAITS) cards.push(quiet(`and ${many(model.stuck.length - MOST_WAITS, 'more collective')}`));
  cards.push(...model.status.storeWaits.map(storeCard));
  if (model.moving) cards.push(quiet(`${many(model.moving, 'collective')} under way, in which ranks keep arriving.`));
  return cards.length ? cards : [quiet('No rank waits in a collective or in the store.')];
}

// Returns the verdict of the latest inquiry. The wait that it explains may be over by now.
function verdict(status) {
  if (!status.verdict) return [];
  return [element('article', { class: 'wait' }, element('h3', {}, 'Verdict of ', since(status.verdict.when, ' ago')), element('p', {}, status.verdict.text))];
}

function disagreement(text) {
  return element('article', { class: 'wait' }, element('h3', {}, 'Ranks disagree'), element('p', {}, text));
}

function waitCard(model, pending, index) {
  const of = count(pending.arrived) + count(pending.missing) + count(pending.gaveUp);
  const lines = [];
  if (pending.missing.length) lines.push(element('p', { class: 'missing' }, 'Missing: ', element('strong', {}, formatRanks(pending.missing)), ` of ${of}`));
  if (pending.gaveUp.length) lines.push(element('p', {}, `Arrived and stopped waiting: ${formatRanks(pending.gaveUp)}`));
  return element('article', { class: 'wait' },
    element('h3', {}, pending.title), ...lines,
    element('ul', {}, ...named(model, pending, index)),
    element('p', { class: 'quiet' }, `${many(count(pending.arrived), 'rank')} there, the first for `, since(pending.first), ', the latest for ', since(pending.latest)));
}

function storeCard(wait) {
  const who = [];
  if (wait.ranks.length) who.push(formatRanks(wait.ranks));
  if (wait.launchers.length) who.push(`the ${wait.launchers.length === 1 ? 'launcher' : 'launchers'} of ${wait.launchers.join(', ')}`);
  if (wait.others) who.push(many(wait.others, 'process without a rank', 'processes without a rank'));
  return element('article', { class: 'wait' },
    element('h3', {}, 'Store: ', wait.what),
    element('p', {}, `Waiting: ${who.join(' and ')}, for `, since(wait.since)));
}

function named(model, pending, index) {
  const ranks = pending.missing.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
  const suspicion = (rank) => suspicionOf(model.byRank.get(rank));
  const items = ranks.sort((a, b) => suspicion(a) - suspicion(b) || a - b).slice(0, MOST_NAMED).map((rank) => {
    const member = model.byRank.get(rank);
    const story = member ? [` on ${member.node}: ${member.state}, `, ...(member.waitsIn ? [`in ${member.waitsIn}`] : activityOf(member))] : [];
    return element('li', {}, rankButton(rank, `wait-${index}`), ...story);
  });
  if (ranks.length > MOST_NAMED) items.push(element('li', { class: 'quiet' }, `and ${(ranks.length - MOST_NAMED).toLocaleString('en')} more`));
  return items;
}

// Returns the order in which missing ranks are named: ranks that do not run, then ranks that compute, then ranks that
// wait for others themselves.
function suspicionOf(member) {
  if (!member || member.state !== 'running') return 0;
  return member.waitsIn ? 2 : 1;
}

export function legend(model, hidden) {
  const numbers = new Map();
  for (const member of model.members) numbers.set(member.look, (numbers.get(member.look) ?? 0) + 1);
  const shown = [...new Set([...Object.keys(LOOKS), ...numbers.keys()])].filter((look) => numbers.has(look) || hidden.has(look));
  return shown.map((look) => {
    const { mark, word } = lookOf(look);
    return element('button', { type: 'button', 'aria-pressed': `${!hidden.has(look)}`, 'data-look': look, 'data-toggle': look, 'data-key': `legend-${look}` },
      element('b', { 'aria-hidden': 'true' }, mark), ` ${word} ${(numbers.get(look) ?? 0).toLocaleString('en')}`);
  });
}

export function mismatches(status) {
  return status.oddities.map((text) => element('li', {}, text));
}

export function late(model) {
  if (!model.status.late.length) return [quiet('No rank comes late clearly more often than the others.')];
  return [table('Ranks that the others wait for, the worst first', [
    { title: 'Rank', cell: (row) => rankButton(row.rank, 'late') },
    { title: 'Node', cell: (row) => nodeName(model.status, row.node) },
    { title: 'Came last', number: true, cell: (row) => `${Math.round((100 * row.last) / Math.max(1, row.collectives))} % of ${row.collectives.toLocaleString('en')}` },
    { title: 'In', cell: (row) => row.operation },
    { title: 'Behind the others', number: true, cell: (row) => formatDuration(row.median) },
    { title: 'p95', number: true, cell: (row) => formatDuration(row.p95) },
    { title: 'Others waited', number: true, cell: (row) => formatDuration(row.waited) },
  ], model.status.late)];
}

export function losses(model, clock) {
  if (!model.status.losses.length) return [quiet('No process was lost.')];
  return [table('Processes that were lost, the latest first', [
    { title: 'Who', cell: (row) => (row.rank === null ? `process ${row.pid}` : rankButton(row.rank, `loss-${row.when}`)) },
    { title: 'Where', cell: (row) => `${nodeName(model.status, row.node)}, process ${row.pid} on ${row.host}` },
    { title: 'Why', cell: (row) => row.cause },
    { title: 'What it did', cell: (row) => row.story },
    { title: 'When', cell: (row) => when(row.when, clock) },
  ], model.status.losses)];
}

export function leases(model) {
  const { leases: open, completedLeases: completed, unlistedLeases: more } = model.status;
  const done = completed ? [quiet(`${many(completed, 'lease')} completed.`)] : [];
  if (more) done.push(quiet(`and ${many(more, 'lease')} more that are not listed`));
  if (!open.length) return [quiet('No lease is held or waited for.'), ...done];
  return [table('Leases held or waited for', [
    { title: 'Lease', cell: (row) => row.title },
    { title: 'Held by', cell: (row) => holder(row) },
    { title: 'Held for', number: true, cell: (row) => (row.since === null ? '' : since(row.since)) },
    { title: 'Wait for it', cell: (row) => waiters(model, row) },
  ], open), ...done];
}

function holder(lease) {
  if (lease.holderRank !== null) return rankButton(lease.holderRank, `lease-${lease.title}`);
  return lease.holder || 'nobody';
}

function waiters(model, lease) {
  const ranks = model.waitersOf(lease).map((m) => m.rank).filter((rank) => rank !== null).slice(0, MOST_NAMED);
  if (!lease.waiters) return 'nobody';
  const names = ranks.length ? `: ${formatRanks(ranks.map((rank) => [rank, rank]))}${lease.waiters > ranks.length ? ' and others' : ''}` : '';
  return many(lease.waiters, 'call') + names;
}

export function when(at, clock) {
  const utc = clock(at).toISOString();
  return element('span', {}, element('time', { datetime: utc, title: `${utc}, as in logs` }, clock(at).toLocaleTimeString()), ', ', since(at, ' ago'));
}

export function quiet(text) {
  return element('p', { class: 'quiet' }, text);
}
