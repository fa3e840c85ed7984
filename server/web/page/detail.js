// The details of one rank.

import { element, replace, since } from './elements.js';
import { formatDuration, formatRanks, lookOf, many } from './words.js';

export class Detail {
  constructor(root, onClose) {
    this.root = root;
    this.onClose = onClose;
    root.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') onClose();
    });
  }

  show(model, key) {
    const member = model.members.find((m) => m.key === key);
    this.root.hidden = !key;
    if (!key) return replace(this.root);
    const close = element('button', { type: 'button', 'data-key': 'close' }, 'Close');
    close.addEventListener('click', this.onClose);
    const facts = member ? factsOf(model, member) : [['State', [`${key.replace('-', ' ')} is not, or no longer, in this job`]]];
    replace(this.root,
      element('div', { class: 'detail', role: 'region', 'aria-labelledby': 'detail-heading', 'data-look': member?.look },
        element('div', { class: 'detail-head' }, element('h3', { id: 'detail-heading', tabindex: '-1', 'data-key': 'heading' }, titleOf(key, member)), close),
        element('dl', {}, ...facts.flatMap(([term, what]) => [element('dt', {}, term), element('dd', {}, ...what)]))));
  }

  focus() {
    this.root.querySelector('h3')?.focus();
  }
}

function titleOf(key, member) {
  const name = member?.name ?? key.replace('-', ' ');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function factsOf(model, member) {
  const facts = [['State', [stateOf(member)]]];
  if (member.waitsIn) facts.push(['Waits in', [member.waitsIn, ' for ', since(member.waitsSince)]]);
  facts.push(...waitsFor(model, member));
  for (const pending of model.missedIn(member)) {
    facts.push(['Holds up', [`${pending.title}, in which ${formatRanks(pending.arrived)} wait, the first for `, since(pending.first)]]);
  }
  if (!member.waitsIn) facts.push(['Activity', activityOf(member)]);
  facts.push(['Last collective', [member.last || 'none so far']]);
  facts.push(['Last call', [since(member.called, ' ago')]]);
  for (const late of model.latenessOf(member)) facts.push(['Late', [formatLateness(late)]]);
  const loss = model.lossOf(member);
  if (loss) facts.push(['Lost', [`${loss.cause}; ${loss.story}; `, since(loss.when, ' ago')]]);
  facts.push(['Node', [member.nodeId || 'none']], ['Process', [`${member.pid} on ${member.host || 'an unnamed host'}`]]);
  if (member.rank !== null) facts.push(['Local rank', [`${member.local}`]]);
  return facts;
}

function stateOf(member) {
  const { mark, word } = lookOf(member.look);
  return member.look === member.state ? `${word} (${mark})` : `${member.state}, ${word} (${mark})`;
}

function waitsFor(model, member) {
  const pending = model.waitOf(member);
  if (pending) {
    const gone = pending.gaveUp.length ? `; and for ${formatRanks(pending.gaveUp)}, which arrived and stopped waiting` : '';
    return [['For', [(pending.missing.length ? formatRanks(pending.missing) : 'nobody else') + gone]]];
  }
  const lease = member.waitsIn ? model.leaseOf(member) : null;
  if (!lease) return [];
  return [['For', lease.since === null ? ['nobody holds it'] : [`${lease.holder}, which holds it for `, since(lease.since)]]];
}

export function activityOf(member) {
  if (member.storySince === null) return [member.story];
  return member.goesOn ? [member.story, ' for ', since(member.storySince)] : [member.story, ' ', since(member.storySince, ' ago')];
}

export function formatLateness(late) {
  const share = Math.round((100 * late.last) / Math.max(1, late.collectives));
  return `last in ${share} % of ${many(late.collectives, 'call')} of ${late.operation}, ${formatDuration(late.median)} behind the others (p95 ${formatDuration(late.p95)})`;
}
