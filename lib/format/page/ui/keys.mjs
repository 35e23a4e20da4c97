// SPDX-License-Identifier: MIT
// What keys do; `?` lists them.
import {make} from './dom.mjs';
import {VIEWS} from './state.mjs';

const KEYS = [
	['1 to 8', 'flame graph, call tree, inverted, functions, lines, markers, information, assembly'],
	['0', 'comparison, in a page of two sides'], ['/', 'search by a regular expression'], ['n  N', 'next or previous match'],
	['f', 'only stacks with this function'], ['x  Delete', 'drop stacks with this function'],
	['h', 'hide this function: its callers get its weight'], ['r', 'begin stacks at this function'],
	['c', 'callers of this function'], ['C', 'callees of this function'], ['l', 'lines of this function, with source'], ['A', 'its instructions'],
	['i', 'waits too, or not'], ['k', 'without the kernel, or with it'], ['o', 'own code only, or all'], ['g', 'a function that calls itself once, or each time'],
	['u', 'undo the last step'], ['U', 'everything again'],
	['w  s', 'zoom the timeline in and out'], ['a  d', 'move it'], ['z', 'zoom it to the selected time'], ['Z', 'select the time that it shows'],
	[',  .', 'select the thread before or after, in the order of the timeline'],
	['t', 'fold or unfold quiet threads'],
	['arrows', 'walk rows, or the graph: parent, child, sibling'], ['Enter', 'zoom in the graph; lines of a row'],
	['*', 'open everything below a row of a tree'], ['Esc', 'step back'],
	['y', 'copy what is seen as text'], ['S', 'save it: the graph as SVG, tables as CSV'], ['!', 'the same as a command of prof'], ['?', 'this list'],
];

export function makeHelp() {
	const dialog = make('dialog', {id: 'help', 'aria-label': 'Keys'}, make('h2', {}, 'Keys'),
		make('dl', {}, ...KEYS.map(([key, what]) => make('div', {}, make('dt', {}, ...key.split('  ').map((one) => make('kbd', {}, one))), make('dd', {}, what)))),
		make('p', {}, 'Drag over the timeline to select a time; click a thread’s name to select it, with Ctrl to add it. ' +
			'In the flame graph a click zooms, Alt and a click drops. ± is half of the 95 % confidence interval.'),
		make('p', {class: 'hint'}, 'This page contains code of wasi-libc and musl (MIT), TRE (BSD-2-Clause, © 2001-2009 Ville Laurikari), dlmalloc (CC0) ' +
			'and compiler-rt (Apache-2.0 with LLVM exceptions); musl is © 2005-2020 Rich Felker, et al.'),
		make('form', {method: 'dialog'}, make('button', {}, 'Close')));
	return dialog;
}

export function onKey(app, event) {
	if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, dialog'))
		return;
	const {state} = app, change = (part, how) => app.change(part, how);
	const actions = {
		'/': () => app.search.focus(), n: () => app.nextFound(1), N: () => app.nextFound(-1),
		f: () => app.focusOn(), x: () => app.drop(), Delete: () => app.drop(), h: () => app.hide(), r: () => app.rootHere(),
		c: () => app.callers('callers'), C: () => app.callers('callees'), l: () => app.showLines(), A: () => app.showAssembly(),
		i: () => change({includeIdle: !state.includeIdle}), k: () => change({noKernel: !state.noKernel}),
		o: () => change({own: !state.own}), g: () => change({foldRecursion: !state.foldRecursion}),
		u: () => app.undo(), U: () => app.reset(), w: () => app.timeline.zoom(0.6), s: () => app.timeline.zoom(1 / 0.6),
		a: () => app.timeline.shift(-0.25), d: () => app.timeline.shift(0.25), t: () => app.timeline.fold(!app.timeline.isOpen),
		z: () => app.timeline.look([state.from, Math.min(state.until, app.engine.duration)]),
		Z: () => app.timeline.selectShown(), ',': () => app.timeline.pickNext(-1), '.': () => app.timeline.pickNext(1),
		y: () => app.copy(), S: () => app.save(), '!': () => app.sayCommand(), '?': () => app.help.showModal(), Escape: () => app.back(),
		'*': () => app.views[state.view].openAll?.(),
	};
	const view = event.key === '0' ? app.comparison && 'compare' : VIEWS[Number(event.key) - 1], action = view ? () => app.change({view}, {isView: true}) : actions[event.key];
	if (!action)
		return;
	event.preventDefault();
	action();
}
