// The words of the page. Everything that comes from the job is text, never markup.

// Returns a duration as a person would say it.
export function formatDuration(milliseconds) {
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 10) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// Returns [[3, 3], [7, 12]] as "3, 7-12". Of many ranges it returns the first ones and the number of all ranks.
export function ranges(pairs, most = 40) {
  const shown = pairs.slice(0, most).map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  if (pairs.length > most) shown.push(`... (${count(pairs)} in all)`);
  return shown.join(', ');
}

export function count(pairs) {
  return pairs.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

export function contains(pairs, rank) {
  return pairs.some(([first, last]) => first <= rank && rank <= last);
}

export function formatRanks(pairs) {
  return `${count(pairs) === 1 ? 'rank' : 'ranks'} ${ranges(pairs)}`;
}

export function many(number, one, more = `${one}s`) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : more}`;
}

// Returns "3, 8-15" as ranges, or null if the text is something else.
export function parseRanges(text) {
  const pairs = [];
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (!match) return null;
    pairs.push([Number(match[1]), Number(match[2] ?? match[1])]);
  }
  return pairs.length ? pairs : null;
}

// The looks of a rank: a mark, so that colour is never the only difference, and a word.
export const LOOKS = {
  missed: { mark: '!', word: 'others wait for it' },
  lost: { mark: 'X', word: 'lost' },
  stopped: { mark: 'S', word: 'stopped' },
  detached: { mark: 'D', word: 'detached' },
  awaited: { mark: '?', word: 'awaited' },
  waiting: { mark: 'W', word: 'waiting' },
  running: { mark: 'R', word: 'running' },
  joining: { mark: 'J', word: 'joining' },
  attached: { mark: 'A', word: 'attached' },
  leaving: { mark: 'E', word: 'leaving' },
  left: { mark: 'L', word: 'left' },
};

export function lookOf(name) {
  return LOOKS[name] ?? { mark: '*', word: name };
}
