// SPDX-License-Identifier: MIT
// The state of the page: one selection for all views, in the address's fragment, so that a link
// shows the same.
import {FILTER_TEXTS} from './engine.mjs';
import {seconds, shellWord} from './dom.mjs';

export const VIEWS = ['flame', 'tree', 'inverted', 'functions', 'stacks', 'chart', 'markers', 'path', 'lines', 'assembly', 'info'];

// The view that a page begins with; one of two sides begins with 'compare', which others do not have.
export const FIRST = {view: 'flame', event: null, grouped: false};

// Categories of waits, as a condition: the menu of events has them as one.
export const WAITING = 'Idle*';

// Sets of threads.
const SETS = ['threads', 'hidden'];

export function emptyState() {
	return {view: FIRST.view, from: 0, until: Infinity, threads: null, includeIdle: false, own: false, noKernel: false, foldRecursion: false,
		threadOrder: 'busy', threadText: '', grouped: FIRST.grouped, hidden: null, unfolded: false, viewFrom: 0, viewUntil: Infinity, flame: 'plain', callersOf: null, zoom: '', search: '', lines: null, order: 'self', source: false, markerOrder: 'start', by: 'function', at: -1, marker: '', markerKind: '', markerAt: -1,
		...Object.fromEntries(FILTER_TEXTS.map((name) => [name, null])), event: FIRST.event};
}

export function stateToFragment(state) {
	const words = new URLSearchParams(), empty = emptyState();
	for (const [name, value] of Object.entries(state)) {
		if (value === empty[name] || value === null)
			continue;
		words.set(name, SETS.includes(name) ? [...value].join('.') : String(value));
	}
	return words.toString();
}

export function stateOfFragment(fragment) {
	const state = emptyState(), words = new URLSearchParams(fragment);
	for (const [name, text] of words) {
		if (!(name in state))
			continue;
		if (SETS.includes(name))
			state[name] = new Set(text.split('.').map(Number).filter(Number.isInteger));
		else if (typeof state[name] === 'number')
			state[name] = Number.isFinite(Number(text)) && Number(text) >= 0 ? Number(text) : state[name];
		else if (typeof state[name] === 'boolean')
			state[name] = text === 'true';
		else
			state[name] = text;
	}
	if (!(state.from < state.until))
		Object.assign(state, {from: 0, until: Infinity});
	if (!(state.viewFrom < state.viewUntil))
		Object.assign(state, {viewFrom: 0, viewUntil: Infinity});
	return state;
}

const CONDITIONS = {
	process: 'process', thread: 'thread', category: 'only category', during: 'during marker',
	language: 'code of', focus: 'with', ignore: 'without', hide: 'hidden', root: 'from',
};

// Conditions as people read them, each with the state without it.
export function conditions(state, engine) {
	const list = [], empty = emptyState();
	const add = (text, ...names) => list.push({text, without: Object.fromEntries(names.map((name) => [name, empty[name]]))});
	if (state.from > 0 || state.until !== Infinity)
		add(`${seconds(state.from)} to ${seconds(Math.min(state.until, engine.duration))}`, 'from', 'until');
	if (state.threads) {
		const [first] = state.threads, thread = engine.threads[first];
		add(state.threads.size === 1 && thread ? `thread ${thread.whole} (${thread.tid})` : `${state.threads.size} threads`, 'threads');
	}
	for (const name of FILTER_TEXTS) {
		if (state[name] && name !== 'event' && !(name === 'category' && state[name] === WAITING))
			add(`${CONDITIONS[name]} ${state[name]}`, name);
	}
	if (state.own)
		add('own code only', 'own');
	if (state.noKernel)
		add('without the kernel', 'noKernel');
	if (state.foldRecursion)
		add('recursion folded', 'foldRecursion');
	if (state.includeIdle)
		add('with waits', 'includeIdle');
	return list;
}

const isOfMarkers = ({view}) => view === 'markers' || view === 'chart';

// The command of prof that says the same in a terminal.
export function reportCommand(state, engine) {
	const words = ['prof', 'report'];
	const option = (name, value) => words.push(`--${name}`, shellWord(value));
	if (state.view === 'tree' || (state.view === 'flame' && state.flame === 'plain'))
		words.push('--tree');
	else if (state.view === 'inverted' || (state.view === 'flame' && state.flame === 'inverted'))
		words.push('--tree', '--inverted');
	else if (state.view === 'flame' && state.callersOf)
		option(state.flame, state.callersOf);
	else if (state.view === 'lines')
		words.push(...(state.lines ? ['--annotate', shellWord(state.lines)] : ['--by', 'line']));
	else if (state.view === 'functions' && state.by !== 'function')
		option('by', state.by);
	else if (state.view === 'assembly' && state.lines)
		words.push('--annotate', shellWord(state.lines), '--asm');
	else if (isOfMarkers(state))
		words.push('--markers');
	if (state.from > 0 || state.until !== Infinity)
		option('time', `${state.from > 0 ? state.from / 1e9 : ''}..${state.until === Infinity ? '' : state.until / 1e9}`);
	if (state.threads && state.threads.size === 1)
		option('thread', String(engine.threads[[...state.threads][0]]?.tid ?? ''));
	// Markers have no stack.
	const isPath = state.event === 'critical path' && !isOfMarkers(state), names = isOfMarkers(state) ? ['process', 'thread'] : FILTER_TEXTS;
	if (isPath)
		words.push('--critical-path');
	for (const name of names) {
		if (state[name] && (name !== 'event' || (engine.eventNames.length > 1 && !isPath)))
			option(name, state[name]);
	}
	if (state.own && !isOfMarkers(state))
		words.push('--own');
	if (state.noKernel && !isOfMarkers(state))
		words.push('--no-kernel');
	if (state.foldRecursion && !isOfMarkers(state))
		words.push('--fold-recursion');
	if (state.includeIdle && !isPath && !isOfMarkers(state))
		words.push('--include-idle');
	words.push(shellWord(decodeURIComponent(location.pathname.slice(location.pathname.lastIndexOf('/') + 1)) || 'profile.html'));
	return words.join(' ');
}
