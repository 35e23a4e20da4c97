// SPDX-License-Identifier: MIT
// The page: one selection, its views, and a description of the item under the pointer.
import {BY, MEASURE} from './engine.mjs';
import {exactly, functionName, grouped, make, percent, place, safeText, seconds} from './dom.mjs';
import {FIRST, VIEWS, WAITING, conditions, emptyState, reportCommand, stateOfFragment, stateToFragment} from './state.mjs';
import {Timeline} from './timeline.mjs';
import {Flame} from './flame.mjs';
import {TableView, TreeView, nameOf} from './tables.mjs';
import {LinesView} from './lines.mjs';
import {StackChart} from './stacks.mjs';
import {MarkerChart, MarkerList, MarkersView} from './markers.mjs';
import {PATH_EVENT, PathView, readPath} from './path.mjs';
import {Menu} from './menu.mjs';
import {Tip} from './tip.mjs';
import {AssemblyView} from './assembly.mjs';
import {hasAssembly} from './server.mjs';
import {InfoView} from './info.mjs';
import {CompareView, shareText} from './compare.mjs';
import {makeHelp, onKey} from './keys.mjs';

const TITLES = {compare: 'Comparison', flame: 'Flame graph', tree: 'Call tree', inverted: 'Inverted', functions: 'Functions', lines: 'Lines',
	stacks: 'Stack chart', chart: 'Marker chart', markers: 'Markers', path: 'Critical path', info: 'Info', assembly: 'Assembly'};
// Names of the events of allocations and of time in the menu.
const EVENTS = {clock: 'CPU time', retained: 'memory still held', allocated: 'memory allocated', deallocated: 'memory freed'};
const HINT = ['Click a function to choose it, press the right button on it for more', 'drag over the timeline to select a time'];
// Until a change that is passing is in the address.
const PASSING_MS = 150;
// Functions of a module that can be left out by their names.
const NAMES_MAX = 300;
// Words on a function in the graph of two sides.
const CHANGES = ['takes less in B', 'itself not shown to differ', 'takes more in B'];
const CSV = ['compare', 'functions', 'lines', 'markers'];
const SELECTING = ['from', 'until', 'threads', 'includeIdle', 'own', 'noKernel', 'foldRecursion', 'process', 'thread', 'event', 'category', 'language', 'during',
	'focus', 'ignore', 'hide', 'root'];

export class App {
	// `comparison`: of a page of two sides; null: of one.
	constructor(engine, comparison) {
		Object.assign(this, {engine, comparison});
		engine.eventNames = engine.events();
		FIRST.grouped = engine.threads.length > 40;
		this.path = engine.eventNames.includes(PATH_EVENT) ? readPath(engine) : null;
		const {hasTimes} = engine, isThere = {path: this.path !== null, assembly: hasAssembly(), stacks: hasTimes, chart: hasTimes};
		this.tabNames = [...(comparison ? ['compare'] : []), ...VIEWS.filter((view) => isThere[view] ?? true)];
		FIRST.view = this.tabNames[0];
		// Recordings of allocations are made for the memory that is held at the end, if any is.
		FIRST.event = ['retained', 'allocated'].find((name) => engine.eventNames.includes(name)) ?? engine.eventName;
		this.state = this.stateOf(location.hash.slice(1));
		this.history = [];
		this.version = 1;
		this.chosen = null;
		// Weigh everything first, for the order of threads.
		this.weigh();
		this.build();
		// The engine has selected everything already.
		if (SELECTING.some((name) => this.state[name] !== emptyState()[name]))
			this.select();
		else
			this.findMarks();
		this.draw();
		if (!this.line.textContent && window.innerWidth >= 900)
			this.say(`${HINT.slice(0, engine.hasTimes ? 2 : 1).join(', ')}; ? lists keys.`);
		// Not needed for the first picture.
		setTimeout(() => { engine.entries = new Map(); this.timeline.draw(); }, 300);
		addEventListener('resize', () => this.resized());
		addEventListener('popstate', () => this.restore());
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
		document.addEventListener('keydown', (event) => onKey(this, event));
	}

	// The state of a link, as far as this page can show it.
	stateOf(fragment) {
		const state = stateOfFragment(fragment);
		return this.tabNames.includes(state.view) ? state : {...state, view: FIRST.view};
	}

	build() {
		const button = (text, title, click) => make('button', {type: 'button', title, click}, text);
		this.search = make('input', {type: 'search', id: 'search', placeholder: 'search (/)', 'aria-label': 'Search functions by a regular expression',
			spellcheck: 'false', input: () => this.setSearch(), keydown: (event) => this.searchKey(event)});
		this.found = make('span', {id: 'found', role: 'status'});
		this.crumbs = make('div', {id: 'crumbs', role: 'group', 'aria-label': 'Selection'});
		this.events = make('select', {id: 'events', 'aria-label': 'What is counted', title: 'What is counted', change: () => this.chooseEvent()});
		this.languages = make('select', {'aria-label': 'Language of the code', title: 'Language of the code', change: () => this.change({language: this.languages.value || null})});
		this.line = make('div', {id: 'line', 'aria-live': 'polite'});
		this.actions = make('div', {id: 'actions'}, ...[['Only with', 'f', () => this.focusOn()], ['Drop', 'i', () => this.drop()],
			['Hide', 'm', () => this.hide()], ['Root here', 'r', () => this.rootHere()], ['Callers', 'c', () => this.callers('callers')],
			['Callees', 'C', () => this.callers('callees')], ['Lines', 'Enter', () => this.showLines()], this.tabNames.includes('assembly') && ['Assembly', 'a', () => this.showAssembly()]].filter(Boolean).map(([text, key, click]) => button(text, `key ${key}`, click)));
		this.tip = new Tip();
		this.menu = new Menu();
		this.markers = new MarkerList(this);
		this.timeline = new Timeline(this);
		this.views = {flame: new Flame(this), tree: new TreeView(this, 'plain'), inverted: new TreeView(this, 'inverted'),
			functions: new TableView(this, BY.function), lines: new LinesView(this), stacks: new StackChart(this), chart: new MarkerChart(this), markers: new MarkersView(this), ...(this.path ? {path: new PathView(this)} : {}), info: new InfoView(this), assembly: new AssemblyView(this),
			...(this.comparison ? {compare: new CompareView(this)} : {})};
		this.tabs = make('div', {id: 'tabs', role: 'tablist', 'aria-label': 'Views', keydown: (event) => this.tabKey(event)},
			...this.tabNames.map((view) => make('button', {type: 'button', role: 'tab', id: `tab-${view}`, 'data-view': view, 'aria-controls': 'view',
				click: () => this.change({view}, {isView: true})}, TITLES[view])));
		this.view = make('div', {id: 'view', role: 'tabpanel'});
		this.help = makeHelp();
		const waits = button('waits', 'Count waits, too (w)', () => this.change({includeIdle: !this.state.includeIdle}));
		const kernel = button('kernel', 'Show the kernel’s frames (K)', () => this.change({noKernel: !this.state.noKernel}));
		const own = button('own code', 'Leave out packages, runtimes and the system (O)', () => this.change({own: !this.state.own}));
		this.switches = {waits, kernel, own};
		document.body.replaceChildren(...document.querySelectorAll('script'), make('main', {id: 'app'},
			make('header', {}, make('h1', {}, document.title), this.search, this.found,
				make('div', {class: 'switches'}, waits, kernel, own, button('?', 'Keys (?)', () => this.openHelp()))),
			make('div', {id: 'now'}, this.events, this.languages, this.crumbs, this.summary = make('span', {id: 'summary'})), this.timeline.element, this.tabs, this.view, make('footer', {}, this.line, this.actions), this.menu.element), this.help, this.tip.element);
		document.body.classList.add('live');
	}

	// The weights of threads in everything of the event: what they are sorted by.
	weigh() {
		const {engine} = this;
		if (this.weighed === this.state.event)
			return;
		// The engine begins with everything of the first event.
		const isSelected = this.weighed === undefined && this.state.event === engine.eventName;
		this.weighed = this.state.event;
		try {
			if (!isSelected)
				engine.select({event: this.weighed});
		} catch {
			engine.select({});
		}
		this.weight = engine.weight;
		this.hasWaits = engine.idle + engine.blocked + engine.runnable > 0;
		this.weights = engine.threads.map(({id}) => engine.weightOf(id));
		this.timeline?.sort();
	}

	chooseEvent() {
		const [event, category] = this.events.value.split('\n');
		this.change({event, ...(event === PATH_EVENT ? {includeIdle: true} : {}), category: category ?? (this.state.category === WAITING ? null : this.state.category)});
	}

	// The menu of events, with waits as one of their own, and that of languages, if there are any.
	drawMenus() {
		const {state: {event, category, language}, engine} = this, option = (value, text, chosen) => make('option', {value, selected: value === chosen}, text);
		const label = (name) => name === 'clock' && !engine.interval ? 'samples' : EVENTS[name] ?? safeText(name);
		const chosen = category === WAITING ? `${event}\n${WAITING}` : event, spoken = engine.categories.filter(({isLanguage}) => isLanguage);
		this.events.replaceChildren(...engine.eventNames.flatMap((name) => [option(name, label(name), chosen),
			...(name === 'clock' && (this.hasWaits || event !== 'clock') ? [option(`${name}\n${WAITING}`, 'waits', chosen)] : [])]));
		this.languages.hidden = !spoken.length && !language;
		this.languages.replaceChildren(option('', 'all languages', language ?? ''), ...spoken.map(({name}) => option(name.replace('.', '').toLowerCase(), name, language)),
			option('native', 'native code', language));
	}

	// Applies the selection. If the engine rejects it, shows the error and selects everything.
	select() {
		try {
			this.weigh();
			this.engine.select(this.state);
		} catch (error) {
			this.say(error.message);
			Object.assign(this.state, Object.fromEntries(SELECTING.map((name) => [name, emptyState()[name]])));
			this.weigh();
			this.engine.select(this.state);
		}
		this.version++;
		this.findMarks();
	}

	// Changes the state and the address. Back and Forward step through all changes except transient
	// ones; changes of the selection can also be undone.
	change(part, {isView = false, isPassing = false} = {}) {
		const before = this.state, next = {...before, ...part};
		if (Object.keys(part).every((name) => before[name] === next[name]))
			return;
		const isOther = SELECTING.some((name) => before[name] !== next[name]);
		if (!isView)
			this.history.push(before);
		// Markers are numbered within a selection.
		this.state = isOther ? {...next, markerAt: -1} : next;
		this.note(isPassing);
		if (isOther)
			this.select();
		this.draw();
	}

	// A change that is neither drawn nor a step of its own.
	keep(part) {
		this.state = {...this.state, ...part};
		this.note(true);
	}

	// Writes the address. Browsers limit the rate of changes, so transient ones are debounced.
	note(isPassing) {
		const address = `#${stateToFragment(this.state)}`, replace = () => {
			clearTimeout(this.noting);
			if (this.passing)
				history.replaceState(null, '', this.passing);
			this.passing = null;
		};
		if (isPassing) {
			clearTimeout(this.noting);
			this.passing = address;
			this.noting = setTimeout(replace, PASSING_MS);
		} else {
			replace();
			history.pushState(null, '', address);
		}
	}

	undo() {
		const before = this.history.pop();
		if (before)
			this.become({...before, view: this.state.view});
		else
			this.say('Nothing to undo.');
	}

	reset() {
		this.history.push(this.state);
		this.become({...emptyState(), view: this.state.view});
	}

	become(state) {
		this.state = state;
		this.note(false);
		this.select();
		this.draw();
	}

	restore() {
		const state = this.stateOf(location.hash.slice(1));
		if (stateToFragment(state) === stateToFragment(this.state))
			return;
		clearTimeout(this.noting);
		this.passing = null;
		const isOther = SELECTING.some((name) => String(state[name]) !== String(this.state[name]) || state[name] instanceof Set);
		this.state = state;
		if (isOther)
			this.select();
		else
			this.findMarks();
		this.draw();
	}

	draw() {
		const {state, engine} = this;
		this.summary.textContent = this.summary.title = engine.summary.replace(/^[^:]*: /, '');
		this.drawMenus();
		for (const tab of this.tabs.children) {
			const isOn = tab.dataset.view === state.view;
			tab.setAttribute('aria-selected', String(isOn));
			tab.tabIndex = isOn ? 0 : -1;
		}
		this.switches.waits.hidden = !this.hasWaits && !state.includeIdle;
		this.switches.waits.setAttribute('aria-pressed', String(state.includeIdle));
		this.switches.kernel.setAttribute('aria-pressed', String(!state.noKernel));
		this.switches.own.setAttribute('aria-pressed', String(state.own));
		this.drawCrumbs();
		this.timeline.draw();
		const view = this.views[state.view];
		if (this.view.firstChild !== view.element)
			this.view.replaceChildren(view.element);
		this.view.setAttribute('aria-labelledby', `tab-${state.view}`);
		this.tip.hide();
		view.draw();
		if (this.drawnView !== state.view)
			this.enterView(view);
		if (state.at >= 0 && this.shownAt !== this.placeOf(state.at))
			this.reveal(state.at);
		this.drawActions();
	}

	// The first row is chosen, and keys work, as soon as a view is seen.
	enterView(view) {
		const isFirst = this.drawnView === undefined;
		this.drawnView = this.state.view;
		if (!isFirst && view.grid && view.grid.row !== null)
			view.grid.choose(view.grid.row);
		if (!isFirst && [document.body, null].includes(document.activeElement))
			this.focusView();
	}

	focusView() {
		(this.view.querySelector('.grid, canvas') ?? this.view.querySelector('[tabindex="0"]'))?.focus({preventScroll: true});
	}

	placeOf(stack) {
		return `${stack} ${this.version} ${this.state.view}`;
	}

	// Shows where a stack is in the view.
	reveal(stack) {
		this.shownAt = this.placeOf(stack);
		const frames = this.engine.frames(stack);
		if (frames.length)
			this.views[this.state.view].reveal?.(frames);
	}

	// Shows a sample: its stack in the view, its time in the timeline.
	chooseSample({stack, time, thread}) {
		const [leaf] = this.engine.frames(stack);
		this.sample = {time, thread};
		this.shownAt = null;
		this.change({at: stack}, {isView: true, isPassing: true});
		this.draw();
		if (!leaf)
			return;
		this.choose({by: BY.function, key: leaf.key, stack});
		const key = this.engine.key(BY.function, leaf.key), how = this.engine.look(stack);
		this.line.replaceChildren(make('b', {}, functionName(key).slice(0, 300)), ` sample at ${seconds(time)} · ${[this.engine.threads[thread].whole, this.engine.categories[how.category]?.name, key.module, place(key)].filter(Boolean).join(' · ')}`);
	}

	openHelp() {
		this.help.showModal();
		this.help.scrollTop = 0;
	}

	drawCrumbs() {
		const list = conditions(this.state, this.engine), {state} = this;
		const crumb = (text, without, how) => make('button', {type: 'button', class: 'crumb', title: 'Remove this condition',
			click: () => this.change(without, how)}, text.slice(0, 120), make('span', {'aria-hidden': 'true'}, ' ×'));
		this.crumbs.replaceChildren(...list.map(({text, without}) => crumb(text, without)),
			...(state.callersOf ? [crumb(`${state.flame} of ${state.callersOf}`, {callersOf: null, flame: 'plain', zoom: ''}, {isView: true})] : []));
	}

	drawActions() {
		this.actions.hidden = !this.chosen || (this.isAboutMarker && ['markers', 'chart'].includes(this.state.view));
	}

	resized() {
		cancelAnimationFrame(this.frame);
		this.frame = requestAnimationFrame(() => { this.timeline.draw(); this.views[this.state.view].draw(); });
	}

	tabKey(event) {
		const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
		if (event.key === 'ArrowDown')
			this.focusView();
		if (!step)
			return;
		event.stopPropagation();
		const {tabNames} = this, view = tabNames[(tabNames.indexOf(this.state.view) + step + tabNames.length) % tabNames.length];
		this.change({view}, {isView: true});
		document.getElementById(`tab-${view}`).focus();
	}

	say(text) {
		this.line.textContent = text.slice(0, 1000);
	}

	// A node of a tree, in words.
	describe(nodes, at) {
		const how = this.engine.look(nodes.stack[at]);
		if (nodes.shares) {
			const key = this.engine.key(nodes.by, nodes.key[at]), [a, b] = nodes.shares[at].map(shareText);
			this.line.replaceChildren(make('b', {}, functionName(key).slice(0, 300)), ' ',
				[`A ${a}, B ${b}`, CHANGES[this.comparison.change(this.engine, nodes.by, nodes.key[at]) + 1], key.module, place(key)].filter(Boolean).join(' · '));
			return;
		}
		this.describeKey(nodes.by, nodes.key[at], nodes.self[at], nodes.total[at], 0, [this.engine.categories[how.category]?.name,
			how.isInlined && 'inlined', how.isGuessed && 'guessed: found by looking for return addresses, may be wrong',
			how.isUnnamed && 'without a name: see Info for what was not found']);
	}

	describeKey(by, id, self, total, line = 0, more = []) {
		const {engine} = this, key = engine.key(by, id), share = (weight) => {
			const error = engine.errorOf(weight);
			return `${engine.amount(weight)}, ${percent(weight, engine.weight)}${error ? ` ±${(100 * error / (engine.weight || 1)).toFixed(1)}` : ''}`;
		}, samples = engine.measure === MEASURE.time ? [`${grouped(total)} samples`] : [];
		const name = make('b', {}, nameOf(by, key).slice(0, 300));
		this.line.replaceChildren(name, ' ', [`total ${share(total)} · self ${share(self)}`, ...samples, key.module, place({...key, line: line || key.line}), ...more].filter(Boolean).join(' · '));
	}

	// A function, in words of what it takes in the selection.
	describeKeyOf(key) {
		const table = this.table(), at = table.key.indexOf(key);
		this.describeKey(BY.function, key, at < 0 ? 0 : table.self[at], at < 0 ? 0 : table.total[at]);
	}

	// Functions or other rows with their weights, made once for each selection.
	table(by = BY.function) {
		if (this.tableVersion !== this.version)
			Object.assign(this, {tableVersion: this.version, tables: []});
		return this.tables[by] ??= this.engine.table(by);
	}

	// Opens a menu where the right button is pressed: that of the function, if there is no other.
	menuOf(element, open) {
		element.addEventListener('contextmenu', (event) => {
			event.preventDefault();
			if (open === undefined || open(event) !== false)
				this.openMenu(event);
		});
	}


	// Opens the menu of actions on the chosen function.
	openMenu(event = null) {
		const name = this.chosenName, {chosen} = this;
		if (name === null)
			return;
		const {left, top} = this.view.getBoundingClientRect(), {module} = this.engine.key(chosen.by, chosen.key), hasStack = chosen.stack !== undefined;
		this.menu.open(event?.clientX || left + 40, event?.clientY || top + 40, [
			['Only stacks with it', 'f', () => this.focusOn()], ['Drop stacks with it', 'i', () => this.drop()], ['Leave it out', 'm', () => this.hide()],
			module ? [`Leave out all of ${module.slice(0, 40)}`, '', () => this.hideModule(module)] : false,
			[this.state.foldRecursion ? 'Unfold recursion' : 'Fold recursion', 'F', () => this.change({foldRecursion: !this.state.foldRecursion})],
			['Begin stacks here', 'r', () => this.rootHere()], ['Its callers', 'c', () => this.callers('callers')], ['Its callees', 'C', () => this.callers('callees')], null,
			['Its lines and source', 'Enter', () => this.showLines()], this.tabNames.includes('assembly') && ['Its instructions', 'a', () => this.showAssembly()],
			['Search for it', '/', () => { this.search.value = exactly(name); this.setSearch(); }], null,
			hasStack && ['Copy the stack', '', () => this.copyText(this.stackText(chosen.stack, false))],
			hasStack && ['Copy the stack as Markdown', '', () => this.copyText(this.stackText(chosen.stack, true))], ['Copy the name', '', () => this.copyText(name)]]);
	}

	// The frames of a stack, the innermost first.
	stackText(stack, isMarkdown) {
		const lines = this.engine.frames(stack).map(({key}) => {
			const row = this.engine.key(BY.function, key), where = [row.module, place(row)].filter(Boolean).join(' ');
			return isMarkdown ? `1. \`${functionName(row).replaceAll('`', '')}\`${where && ` ${where}`}` : `${functionName(row)}${where && ` (${where})`}`;
		});
		return lines.join('\n');
	}

	// Its functions give their weight to their callers.
	hideModule(module) {
		const names = new Set(), {engine} = this;
		for (const key of this.table().key) {
			if (engine.key(BY.function, key).module === module)
				names.add(engine.rawFunction(BY.function, key));
		}
		if (names.size > NAMES_MAX)
			this.say(`It has ${names.size} functions: too many to leave out by name.`);
		else
			this.change({hide: [this.state.hide, ...[...names].map(exactly)].filter(Boolean).join('|')});
	}

	async copyText(text) {
		try {
			await navigator.clipboard.writeText(text);
			this.say('Copied.');
		} catch {
			this.say('This browser does not let the page copy.');
		}
	}

	// A function, or a node of a tree, whose stack is then in the address.
	choose(chosen) {
		Object.assign(this, {chosen, isAboutMarker: false});
		if (chosen?.stack !== undefined && chosen.stack !== this.state.at) {
			this.shownAt = this.placeOf(chosen.stack);
			this.keep({at: chosen.stack});
		}
		this.drawActions();
	}

	get chosenRaw() {
		return this.chosen ? this.engine.rawFunction(this.chosen.by, this.chosen.key) || null : null;
	}

	// The function with the most of its own; null: none.
	get heaviest() {
		const {count, key} = this.table();
		return count ? this.engine.rawFunction(BY.function, key[0]) || null : null;
	}

	get chosenName() {
		if (!this.chosen) {
			this.say('Choose a function first: click it, or use the arrow keys.');
			return null;
		}
		return this.chosenRaw;
	}

	withName(call) {
		const name = this.chosenName;
		if (name !== null)
			call(name);
	}

	focusOn() {
		this.withName((name) => this.change({focus: exactly(name)}));
	}

	drop() {
		this.withName((name) => this.change({ignore: [this.state.ignore, exactly(name)].filter(Boolean).join('|')}));
	}

	hide() {
		this.withName((name) => this.change({hide: [this.state.hide, exactly(name)].filter(Boolean).join('|')}));
	}

	rootHere() {
		this.withName((name) => this.change({root: name}));
	}

	callers(kind) {
		this.withName((name) => this.change({view: 'flame', flame: kind, callersOf: name, zoom: ''}));
	}

	showLines() {
		this.open('lines');
	}

	showAssembly() {
		this.open('assembly');
	}

	// Shows code of the chosen function; Esc returns.
	open(view) {
		const {state} = this;
		if (!this.tabNames.includes(view)) {
			this.say('Instructions are not in the file: prof convert --asm puts them there, prof view shows them.');
			return;
		}
		if (!['lines', 'assembly'].includes(state.view))
			this.opener = state.view;
		else if (state.lines && state.view !== view)
			this.change({view}, {isView: true});
		if (!['lines', 'assembly'].includes(this.state.view) || this.state.view === state.view)
			this.withName((name) => this.change({view, lines: name}, {isView: true}));
	}

	nextBy() {
		const kinds = Object.keys(BY), {by} = this.state;
		this.change({view: 'functions', by: kinds[(kinds.indexOf(by) + 1) % kinds.length]}, {isView: true});
	}

	back() {
		if (this.state.view === 'flame' && this.views.flame.back())
			return;
		if (['lines', 'assembly'].includes(this.state.view))
			this.change({view: this.opener ?? 'functions', lines: null}, {isView: true});
		else if (this.state.search)
			this.clearSearch();
		else
			this.undo();
	}

	setSearch() {
		this.keep({search: this.search.value});
		this.findMarks();
		this.views[this.state.view].draw();
	}

	clearSearch() {
		this.search.value = '';
		this.setSearch();
	}

	searchKey(event) {
		if (event.key !== 'Enter' && event.key !== 'Escape')
			return;
		event.stopPropagation();
		if (event.key === 'Enter') {
			this.nextFound(event.shiftKey ? -1 : 1);
		} else {
			this.clearSearch();
			this.search.blur();
		}
	}

	// Marks the functions whose names match, and says how much they take.
	findMarks() {
		const {search} = this.state;
		if (document.activeElement !== this.search)
			this.search.value = search;
		this.marks = this.lineMarks = null;
		this.found.textContent = '';
		this.search.removeAttribute('aria-invalid');
		if (!search)
			return;
		try {
			const {marks, weight} = this.engine.search(BY.function, search);
			this.marks = marks;
			const count = marks.reduce((sum, mark) => sum + mark, 0);
			this.found.textContent = !count ? 'no function has such a name' : `${percent(weight, this.engine.weight)}, ${this.engine.amount(weight)} in ${count === 1 ? 'one function' : `${grouped(count)} functions`} (Enter: next)`;
			this.found.title = this.foundNames(marks);
		} catch (error) {
			this.search.setAttribute('aria-invalid', 'true');
			this.found.textContent = error.message;
		}
	}

	// The heaviest functions that match, for a look at what an expression found.
	foundNames(marks) {
		const table = this.table(), names = [];
		for (let i = 0; i < table.count && names.length < 20; i++) {
			if (marks[table.key[i]])
				names.push(functionName(this.engine.key(BY.function, table.key[i])).slice(0, 100));
		}
		return names.join('\n');
	}

	// Lines have keys of their own.
	isFound(by, key) {
		if (by !== BY.function)
			this.lineMarks ??= this.engine.search(by, this.state.search).marks;
		return (by === BY.function ? this.marks : this.lineMarks)[key] === 1;
	}

	nextFound(step) {
		this.views[this.state.view].nextFound?.(step);
	}

	sayCommand() {
		this.say(reportCommand(this.state, this.engine));
	}

	// Graphs are copied as the tree that they show.
	get viewText() {
		return this.views[this.state.view].text?.() ?? this.views.tree.text?.call((this.views.tree.draw(), this.views.tree));
	}

	// Saves what is seen: graphs as pictures, tables as CSV.
	save() {
		const {view} = this.state, text = () => this.viewText;
		const file = this.views[view].file?.() ?? {type: 'text/plain', ending: CSV.includes(view) ? 'csv' : 'txt', text: text()};
		const address = URL.createObjectURL(new Blob([file.text], {type: `${file.type};charset=utf-8`}));
		const link = make('a', {href: address, download: `${document.title.replace(/[^\w.-]+/g, '-').slice(0, 80)}-${view}.${file.ending}`});
		link.click();
		setTimeout(() => URL.revokeObjectURL(address), 10000);
		this.say(`Saved ${link.download}.`);
	}

	copy() {
		this.copyText(this.viewText);
	}
}
