// SPDX-License-Identifier: MIT
// Actions of keys: those of prof browse do the same there. `?` lists them.
import {make} from './dom.mjs';

const show = (view) => (app) => (app.tabNames.includes(view) ? app.change({view}, {isView: true}) : app.say('This page has no such view.'));
const turn = (name) => (app) => app.change({[name]: !app.state[name]});

// Keys with spaces between, what they do, and for each of them a function. Without one, others handle them.
export const KEYS = [
	['1 2 3 4', 'functions, call tree, inverted, flame graph', show('functions'), show('tree'), show('inverted'), show('flame')],
	['5 6 7', 'stack chart; lines and assembly of a function', show('stacks'), (app) => app.showLines(), (app) => app.showAssembly()],
	['8 9 0', 'comparison of two sides, marker chart, markers', show('compare'), show('chart'), show('markers')],
	['P I', 'critical path, information', show('path'), show('info')],
	['/', 'search by a regular expression', (app) => app.search.focus()], ['n N', 'next or previous match', (app) => app.nextFound(1), (app) => app.nextFound(-1)],
	['f', 'only stacks with this function', (app) => app.focusOn()],
	['i Delete', 'drop stacks with this function', (app) => app.drop(), (app) => app.drop()],
	['m', 'leave this function out: its callers get its weight', (app) => app.hide()],
	['r', 'begin stacks at this function', (app) => app.rootHere()],
	['c C', 'callers, callees of this function', (app) => app.callers('callers'), (app) => app.callers('callees')],
	['Enter', 'zoom in the graph; lines of a row'], ['a', 'instructions of this function', (app) => app.showAssembly()],
	['w', 'waits too, or not', turn('includeIdle')], ['K', 'without the kernel, or with it', turn('noKernel')],
	['O', 'own code only', turn('own')], ['F', 'a function that calls itself once, or each time', turn('foldRecursion')],
	['s', 'order of functions: self or total', (app) => app.change({order: app.state.order === 'self' ? 'total' : 'self'}, {isView: true})],
	['B', 'functions by module, file, process …', (app) => app.nextBy()],
	['u R', 'undo the last step, everything again', (app) => app.undo(), (app) => app.reset()],
	['+ −', 'zoom the timeline in and out', (app) => app.timeline.zoom(0.6), (app) => app.timeline.zoom(1 / 0.6)],
	['< >', 'move it', (app) => app.timeline.shift(-0.25), (app) => app.timeline.shift(0.25)],
	['z Z', 'zoom it to the selected time, select the time that it shows', (app) => app.timeline.look(app.timeline.selection),
		(app) => app.timeline.selectShown()],
	[', .', 'select the thread before or after, in the order of the timeline', (app) => app.timeline.pickNext(-1), (app) => app.timeline.pickNext(1)],
	['t', 'fold or unfold quiet threads', (app) => app.timeline.fold(!app.timeline.isOpen)],
	['arrows h j k l', 'walk rows, or the graph: parent, child, sibling'],
	['*', 'open everything below a row of a tree', (app) => app.views[app.state.view].openAll?.()],
	['Shift+F10', 'what can be done with the function', (app) => app.openMenu()],
	['Esc', 'step back', (app) => app.back()],
	['y S', 'copy what is seen as text; save it: graphs and charts as SVG, tables as CSV', (app) => app.copy(), (app) => app.save()],
	['!', 'the same as a command of prof', (app) => app.sayCommand()], ['?', 'this list', (app) => app.openHelp()],
];

const NAMES = {Esc: 'Escape', '−': '-', 'Shift+F10': 'F10'};
const ACTIONS = new Map(KEYS.flatMap(([keys, , ...actions]) => keys.split(' ').map((key, i) => [NAMES[key] ?? key, actions[i]]).filter(([, action]) => action)));

export function makeHelp() {
	return make('dialog', {id: 'help', 'aria-label': 'Keys'}, make('h2', {tabindex: -1, autofocus: true}, 'Keys'),
		make('dl', {}, ...KEYS.map(([keys, what]) => make('div', {}, make('dt', {}, ...keys.split(' ').map((key) => make('kbd', {}, key))), make('dd', {}, what)))),
		make('p', {}, 'Drag over the timeline to select a time, click in it to select a sample; click a thread’s name to select it, with Ctrl to add it. ' +
			'Ctrl and the wheel zoom. In the flame graph a click zooms, Alt and a click drops. The right button has a menu. ± is half of the 95 % confidence interval.'),
		make('p', {class: 'hint'}, 'This page contains code of wasi-libc and musl (MIT), TRE (BSD-2-Clause, © 2001-2009 Ville Laurikari), dlmalloc (CC0) ' +
			'and compiler-rt (Apache-2.0 with LLVM exceptions); musl is © 2005-2020 Rich Felker, et al.'),
		make('form', {method: 'dialog'}, make('button', {}, 'Close')));
}

export function onKey(app, event) {
	const action = ACTIONS.get(event.key);
	if (!action || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, dialog') || (event.key === 'F10' && !event.shiftKey))
		return;
	event.preventDefault();
	action(app);
}
