// The status page of musterd: polls the job's status and shows it.

import { Detail } from './detail.js';
import { byId, replace, setText, tick } from './elements.js';
import { Grid } from './grid.js';
import { Model } from './model.js';
import * as sections from './sections.js';
import { Timeline } from './timeline.js';
import { contains, formatDuration, formatRanks, lookOf, many, parseRanges } from './words.js';

const ANSWER_TIMEOUT = 10_000; // for an answer
const RETRY = 1000; // after none
const UNSEEN = 10_000; // while nobody looks
const SHARE = 20; // of the time goes into drawing at most, as a divisor

const grid = new Grid(byId('grid'), choose);
const detail = new Detail(byId('detail'), () => choose(null));
const timeline = new Timeline(byId('timeline'));

let model = null;
let version = '';
let started = 0; // the wall clock at the daemon's start
let offset = 0; // the page's clock less the daemon's
let silentSince = null; // wall clock
let lastAnswer = null;
let lastNow = 0; // the daemon's clock at the last answer
let chosen = null;
let poll = RETRY; // how often there may be news
let took = 0; // what the last answer took to be drawn
let timer = 0;
let asking = false;
let search = '';
const hidden = new Set(); // looks that are not shown
const drawn = new Map(); // what each section was made of
let announced = { state: null, verdict: null, waits: new Set() };

const now = () => (silentSince === null ? performance.now() - offset : lastNow);
const clock = (at) => new Date(started + at);

// ---- Polling ----

async function ask() {
  if (asking) return;
  asking = true;
  clearTimeout(timer);
  try {
    const response = await fetch(`api/status?have=${encodeURIComponent(version)}`, { cache: 'no-store', signal: AbortSignal.timeout(ANSWER_TIMEOUT) });
    if (!response.ok) throw new Error(`it answers with HTTP status ${response.status}`);
    const text = await response.text();
    const began = performance.now();
    onAnswer(JSON.parse(text));
    took = performance.now() - began;
  } catch (error) {
    onSilence(error);
  }
  asking = false;
  const pause = silentSince === null ? Math.max(poll, SHARE * took) : RETRY;
  timer = setTimeout(ask, document.hidden ? Math.max(pause, UNSEEN) : pause);
}

function onAnswer(answer) {
  const before = performance.now();
  offset = before - answer.now;
  poll = answer.poll;
  lastAnswer = Date.now();
  lastNow = answer.now;
  if (silentSince !== null) {
    silentSince = null;
    say('musterd answers again.');
  }
  const changed = answer.version !== version;
  if (changed) {
    version = answer.version;
    started = answer.started;
    model = new Model(answer);
  }
  // The daemon's time counts: with the same status, a collective may have become stuck since the last poll.
  if (model.look(answer.at) || changed) draw();
  announceChanges();
  onTime();
  // Measures for the browser's profiler. They are cleared, because a page may be open for weeks.
  if (performance.getEntriesByName('muster-refresh').length > 100) performance.clearMeasures('muster-refresh');
  performance.measure('muster-refresh', { start: before, detail: { changed } });
}

function onSilence(error) {
  if (silentSince === null) {
    silentSince = Date.now();
    say('musterd does not answer any more.');
  }
  byId('trouble').title = error.message;
  onTime();
}

// ---- Drawing ----

function draw() {
  const { status } = model;
  setText(byId('job'), `job ${status.job}`);
  setText(byId('state'), status.state);
  byId('state').dataset.state = status.state;
  setText(byId('reason'), status.reason);
  document.title = `${status.job}: ${status.state} - Muster`;
  const { members, nodes } = model;
  section('facts', [status.world, status.most, status.least, status.epoch, status.daemon, status.refused, status.newcomers, status.stop], () => sections.facts(status));
  section('waits', [model.stuck, model.moving, status.verdict, status.disagreements, status.storeWaits, (model.stuck.length || status.storeWaits.length) && version], () => sections.waits(model));
  byId('mismatches').hidden = !status.oddities.length;
  section('mismatches-list', status.oddities, () => sections.mismatches(status));
  section('late', status.late, () => sections.late(model));
  section('losses', [status.losses, started], () => sections.losses(model, clock));
  section('leases', [status.leases, status.completedLeases, status.unlistedLeases, status.leases.length && version], () => sections.leases(model));
  timeline.draw(status.timeline, now(), clock);
  section('legend', [members.map((m) => m.look).join(), [...hidden]], () => sections.legend(model, hidden));
  setText(byId('ranks-heading'), `${many(members.length, 'process', 'processes')} on ${many(nodes.size, 'node')}`);
  drawGrid();
  showDetail();
}

// Draws a section of the page if its content has changed.
function section(id, content, make) {
  const key = JSON.stringify(content);
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  replace(byId(id), ...make());
}

function drawGrid() {
  const shows = filter(search);
  const number = model.members.filter(shows).length;
  setText(byId('found'), number === model.members.length ? '' : `${number.toLocaleString('en')} of ${many(model.members.length, 'process', 'processes')} shown`);
  grid.draw(model, shows).then(() => grid.select(chosen));
}

// Returns a filter for a search: ranks by number, or a text in a member's node, host or activity.
function filter(text) {
  const wanted = text.trim().toLowerCase();
  const ranks = parseRanges(wanted);
  const seen = (member) => !hidden.has(member.look);
  if (!wanted) return seen;
  if (ranks) return (member) => seen(member) && member.rank !== null && contains(ranks, member.rank);
  const texts = (m) => [m.node, m.host, m.name, m.state, lookOf(m.look).word, m.waitsIn, m.story];
  return (member) => seen(member) && texts(member).some((part) => part.toLowerCase().includes(wanted));
}

function showDetail() {
  detail.show(model, chosen);
  tick(byId('detail'), now());
}

// Returns whether the job has ended. Its daemon may then end too.
const isOver = () => ['finished', 'failed'].includes(model?.status.state);

function whyNoAnswer() {
  if (!model) return '';
  const why = isOver() ? `The job is ${model.status.state}, so it will have ended, too.` : 'It may be about to be started again.';
  return ` ${why} The page below shows its last answer.`;
}

// Updates durations, and says whether musterd answers. Runs every second.
function onTime() {
  const trouble = byId('trouble');
  trouble.hidden = silentSince === null;
  if (silentSince !== null) {
    const silence = `musterd has not answered since ${new Date(silentSince).toLocaleTimeString()} (${formatDuration(Date.now() - silentSince)}).`;
    setText(trouble, `${silence}${whyNoAnswer()} This page keeps asking.`);
  }
  trouble.classList.toggle('expected', isOver());
  document.body.classList.toggle('stale', silentSince !== null && !isOver());
  if (!model) return;
  if (silentSince === null) tick(document, now());
  setText(byId('freshness'), `As of ${new Date(lastAnswer).toLocaleTimeString()}, asked for again every ${formatDuration(poll)}. The same in a terminal: muster status --watch.`);
}

// Announces changes to screen readers, but no durations.
function announceChanges() {
  const { status } = model;
  const news = [];
  if (announced.state !== null && announced.state !== status.state) news.push(`The job is ${status.state}: ${status.reason}.`);
  const verdict = status.verdict?.text ?? null;
  if (verdict !== announced.verdict && verdict) news.push(`Verdict: ${verdict}.`);
  const waits = new Set();
  for (const pending of model.stuck) {
    if (now() - pending.latest < 10_000 || waits.size >= 3) continue;
    const key = `${pending.title} misses ${formatRanks(pending.missing)}.`;
    waits.add(key);
    if (!announced.waits.has(key)) news.push(key);
  }
  announced = { state: status.state, verdict, waits };
  if (news.length) say(news.join(' '));
}

function say(text) {
  setText(byId('news'), text);
}

// ---- Input ----

function choose(key) {
  const before = chosen;
  chosen = key;
  history.replaceState(null, '', key ? `#${encodeURIComponent(key)}` : location.pathname + location.search);
  if (!model) return;
  showDetail();
  grid.select(key);
  if (key) detail.focus();
  else if (before && !grid.focus(before)) byId('ranks-heading').focus();
}

byId('filter').addEventListener('input', (event) => {
  search = event.target.value;
  if (model) drawGrid();
});
byId('search').addEventListener('submit', (event) => event.preventDefault());
document.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (button?.dataset.choose) choose(button.dataset.choose);
  if (!button?.dataset.toggle || !model) return;
  const look = button.dataset.toggle;
  if (!hidden.delete(look)) hidden.add(look);
  draw();
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) ask();
});
window.addEventListener('hashchange', () => {
  if (linked()) choose(linked());
});

// Returns the member that the address names, or null. People send each other such links, so it may be cut off or name
// nobody. Headings of the page have addresses too.
function linked() {
  if (!/^#(rank|process)-/.test(location.hash)) return null;
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return null; // not a valid escape
  }
}

chosen = linked();
setInterval(() => {
  if (!document.hidden) onTime();
}, 1000);
ask();
