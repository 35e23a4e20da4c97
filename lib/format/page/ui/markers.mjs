// SPDX-License-Identifier: MIT
// Markers of the selected time and threads, as a table and as rows over time, with the stack of the
// chosen one. Several markers of the same wait share a row.
import {BY} from './engine.mjs';
import {fitText, functionName, grouped, make, seconds} from './dom.mjs';
import {isDark, themeColor} from './colors.mjs';
import {Grid} from './grid.mjs';
import {PATH_MARKER} from './path.mjs';
import {AXIS, TimeCanvas} from './time_canvas.mjs';

// Markers of which the critical path is computed: there are many, and the event of that name shows them.
const COMPUTED = [PATH_MARKER, 'Path sum', 'Forecast'];
const MARKER_ROW = 16, LANES_MAX = 6, LABELLED_MAX = 5000, GROUPS_MAX = 300, FRAMES_MAX = 60, FLOWS_MAX = 200;

// Returns the first value of a marker's fields that tells it from others of its kind: neither what a
// call returned, nor another marker of the same wait. "": it has none.
export function markerLabel(fields) {
	return fields.split('; ')[0].replace(/^Returned: [^,]*(, |$)/, '').replace(/^[^:]*: /, '').split(', ')[0];
}

// The list that both views show.
export class MarkerList {
	constructor(app) {
		this.app = app;
	}

	// Reads the markers when the selection has changed.
	get columns() {
		const {app} = this;
		if (this.version !== app.version) {
			this.version = app.version;
			this.all = app.engine.markerColumns();
			this.key = null;
			this.parts = new Map();
			this.all.whole.forEach((whole, i) => {
				if (whole !== i)
					this.parts.set(whole, [...this.parts.get(whole) ?? [], i]);
			});
		}
		return this.all;
	}

	// Names of markers with how many rows they have.
	get kinds() {
		const kinds = new Map(), {columns} = this;
		for (let i = 0; i < columns.count; i++) {
			if (columns.whole[i] === i)
				kinds.set(columns.name[i], (kinds.get(columns.name[i]) ?? 0) + 1);
		}
		return [...kinds].map(([name, count]) => ({name: columns.names.get(name), count})).sort((a, b) => (a.name < b.name ? -1 : 1));
	}

	// Numbers of the rows that are shown.
	get rows() {
		const {columns} = this, {marker, markerKind} = this.app.state, key = `${marker}\n${markerKind}`, wanted = marker.toLowerCase();
		if (this.key === key)
			return this.list;
		this.key = key;
		this.list = [];
		for (let i = 0; i < columns.count; i++) {
			const name = columns.names.get(columns.name[i]);
			if (columns.whole[i] === i && (markerKind ? name === markerKind : !COMPUTED.includes(name)) && (!wanted || this.textOf(i).toLowerCase().includes(wanted)))
				this.list.push(i);
		}
		return this.list;
	}

	// Returns a marker, merged with other markers of the same wait.
	get(i) {
		const {engine} = this.app, row = engine.marker(i), parts = (this.parts.get(i) ?? []).map((part) => engine.marker(part));
		const also = parts.map((part) => `${part.name}: ${part.fields}`.replace(/: $/, ''));
		return {...row, i, fields: [row.fields, ...also].filter(Boolean).join('; '), wakers: [row, ...parts].filter((part) => part.waker).map(({waker, start, duration}) => ({waker, time: start + duration})),
			causes: [row, ...parts].filter(({cause}) => cause !== null)};
	}

	// The one that is chosen; null: none is.
	get chosen() {
		const at = this.app.state.markerAt;
		return at >= 0 && at < this.columns.count ? this.get(at) : null;
	}

	textOf(i) {
		const {name, fields, thread} = this.get(i);
		return `${name} ${fields} ${thread.whole}`;
	}

	// Wake-ups in the view of time, for arrows between threads; none if they would be a cloud.
	flows(from, until) {
		const {columns} = this, list = [];
		for (const i of this.rows) {
			if (columns.start[i] + columns.duration[i] < from || columns.start[i] > until || !(columns.names.get(columns.name[i]) === 'woken' || this.parts.has(i)))
				continue;
			const {wakers, thread} = this.get(i);
			list.push(...wakers.map(({waker, time}) => ({from: waker.id, to: thread.id, time})));
			if (list.length > FLOWS_MAX)
				return [];
		}
		return list;
	}
}

// The conditions on markers, and what is known of the chosen one.
class MarkerView {
	constructor(app) {
		this.app = app;
		this.filter = make('input', {type: 'search', placeholder: 'only markers with this text', 'aria-label': 'Only markers with this text',
			input: () => app.change({marker: this.filter.value}, {isView: true, isPassing: true})});
		this.kinds = make('select', {'aria-label': 'Only markers of this kind', change: () => app.change({markerKind: this.kinds.value}, {isView: true})});
		this.count = make('span', {class: 'hint'});
		this.bar = make('div', {class: 'bar'}, this.kinds, this.filter, this.count);
		this.detail = make('div', {class: 'detail', role: 'region', tabindex: 0, 'aria-label': 'The marker'});
	}

	drawBar() {
		const {state, markers} = this.app, option = (value, text) => make('option', {value, selected: value === state.markerKind}, text);
		if (document.activeElement !== this.filter)
			this.filter.value = state.marker;
		const {kinds} = markers, all = kinds.filter(({name}) => !COMPUTED.includes(name)).reduce((sum, {count}) => sum + count, 0);
		this.kinds.replaceChildren(option('', `all kinds (${grouped(all)})`), ...kinds.map(({name, count}) => option(name, `${name} (${grouped(count)})`)));
		this.count.textContent = `${grouped(markers.rows.length)} shown`;
		this.drawDetail();
	}

	choose(i) {
		const {app} = this, row = i === null ? null : app.markers.get(i);
		app.keep({markerAt: i ?? -1});
		if (row)
			app.say(`${row.name} · ${seconds(row.start)} · ${row.fields}`);
		app.isAboutMarker = Boolean(row);
		app.drawActions();
		this.drawDetail();
		app.timeline.draw();
	}

	// Its stack, and ways to its thread and time.
	drawDetail() {
		const {app} = this, row = app.markers.chosen, {engine} = app;
		this.detail.hidden = !row;
		if (!row)
			return;
		const button = (text, click) => make('button', {type: 'button', click}, text);
		const around = [Math.floor(row.start), Math.ceil(row.start + Math.max(row.duration, 1e6))], margin = (around[1] - around[0]) * 0.5;
		const stackOf = ({name, cause}) => [row.causes.length > 1 && make('h2', {}, name), make('ol', {class: 'frames'}, ...engine.frames(cause).slice(0, FRAMES_MAX).map(({key}) =>
			make('li', {}, button(functionName(engine.key(BY.function, key)).slice(0, 200), () => { app.choose({by: BY.function, key}); app.describeKeyOf(key); }))))];
		this.detail.replaceChildren(make('b', {}, row.name), ` ${seconds(row.start)}${row.duration ? `, ${seconds(row.duration)}` : ''}`,
			make('div', {}, row.fields), make('div', {class: 'kinds'}, button('its time', () => app.change({from: around[0], until: around[1]})),
				button('its thread', () => app.change({threads: new Set([row.thread.id])})),
				button('see it', () => app.timeline.look([Math.max(0, around[0] - margin), Math.min(engine.duration, around[1] + margin)])),
				...row.wakers.slice(0, 1).map(({waker}) => button(`woken by ${waker.title}`, () => app.change({threads: new Set([row.thread.id, waker.id])})))),
			...row.causes.flatMap(stackOf).filter(Boolean), row.causes.length ? '' : make('p', {class: 'hint'}, 'It has no stack.'));
	}

	text() {
		const lines = ['start\tduration\tmarker\ttid\tfields'], {markers} = this.app;
		for (const i of markers.rows) {
			const row = markers.get(i);
			lines.push([row.start / 1e9, row.duration / 1e9, row.name, row.thread.tid, row.fields].join('\t'));
		}
		return lines.join('\n');
	}
}

export class MarkersView extends MarkerView {
	constructor(app) {
		super(app);
		const rowOf = (i) => app.markers.get(i);
		this.grid = new Grid('Markers', [
			{title: 'Start', width: '7em', isNumber: true, sorts: 'start', fill: (cell, i) => cell.append(seconds(app.markers.columns.start[i]))},
			{title: 'Duration', width: '7em', isNumber: true, sorts: 'duration', fill: (cell, i) => cell.append(app.markers.columns.duration[i] ? seconds(app.markers.columns.duration[i]) : '')},
			{title: 'Marker', width: 'minmax(7em, 1fr)', fill: (cell, i) => cell.append(rowOf(i).name)},
			{title: 'Thread', width: 'minmax(6em, 1fr)', fill: (cell, i) => cell.append(rowOf(i).thread.whole)},
			{title: 'Fields', width: 'minmax(8em, 3fr)', fill: (cell, i) => { const {fields} = rowOf(i); cell.append(fields.slice(0, 500)); cell.title = fields; }},
		], {
			choose: (i) => this.choose(i),
			sort: (column) => app.change({markerOrder: column ? 'duration' : 'start'}, {isView: true}),
			// Selects the marker's time.
			enter: (i) => i !== null && app.markers.columns.duration[i] && app.change({from: Math.floor(app.markers.columns.start[i]),
				until: Math.ceil(app.markers.columns.start[i] + app.markers.columns.duration[i])}),
		});
		this.element = make('section', {id: 'markers'}, this.bar, make('div', {class: 'beside'}, this.grid.element, this.detail));
	}

	// In time, or the longest first.
	get rows() {
		const {rows, columns: {duration}} = this.app.markers;
		if (this.app.state.markerOrder !== 'duration')
			return rows;
		if (this.sortedOf !== rows)
			Object.assign(this, {sortedOf: rows, sorted: [...rows].sort((a, b) => duration[b] - duration[a] || a - b)});
		return this.sorted;
	}

	draw() {
		const {rows} = this, at = rows.indexOf(this.app.state.markerAt);
		this.drawBar();
		this.grid.show({count: rows.length, row: (i) => rows[i], none: 'No marker is in the selected time and threads.'}, {at: Math.max(0, at), top: this.grid.element.scrollTop});
		if (at < 0 && rows.length && this.app.drawnView === 'markers')
			this.choose(rows[0]);
	}
}

class MarkerCanvas extends TimeCanvas {
	constructor(app, view) {
		super(app, 'Markers over time');
		Object.assign(this, {view, scrolls: true});
	}

	draw() {
		this.view.draw();
	}

	drawAll(context) {
		const {columns} = this.app.markers, chosen = this.app.state.markerAt, text = isDark() ? '#f3f3f3' : '#16181d';
		for (const {name, top, lanes, count} of this.view.groups) {
			context.fillStyle = themeColor('text');
			context.fillText(fitText(context, name, this.left - 52), 6, top + MARKER_ROW / 2 + 2);
			context.textAlign = 'right';
			context.fillStyle = themeColor('faint');
			context.fillText(grouped(count), this.left - 8, top + MARKER_ROW / 2 + 2);
			context.textAlign = 'left';
			context.fillStyle = themeColor('line');
			context.fillRect(0, top - 1, this.width, 0.5);
			lanes.forEach((lane, k) => {
				let last = -1;
				if (!this.isSeen(top + k * MARKER_ROW, MARKER_ROW))
					return;
				for (const i of lane) {
					const [begin, width] = this.boxOf(i), y = top + k * MARKER_ROW + 1;
					if (begin + width < this.left || begin > this.width || (width <= 2 && Math.floor(begin) === last && i !== chosen))
						continue;
					last = Math.floor(begin);
					context.fillStyle = i === chosen ? themeColor('heat') : themeColor('mark');
					context.fillRect(Math.max(this.left, begin), y, Math.min(this.width, begin + width) - Math.max(this.left, begin), MARKER_ROW - 2);
					if (width < 40)
						continue;
					context.fillStyle = text;
					context.fillText(fitText(context, this.view.labelOf(i), Math.min(this.width, begin + width) - Math.max(this.left, begin) - 6), Math.max(this.left, begin) + 3, y + MARKER_ROW / 2 - 1);
				}
			});
		}
	}

	boxOf(i) {
		const {columns} = this.app.markers, begin = this.x(columns.start[i]);
		return [begin, Math.max(2, this.x(columns.start[i] + columns.duration[i]) - begin)];
	}

	markerAt(x, y) {
		const group = this.view.groups.findLast(({top}) => y >= top), lane = group?.lanes[Math.floor((y - group.top) / MARKER_ROW)];
		return x < this.left ? undefined : lane?.findLast((i) => { const [begin, width] = this.boxOf(i); return x >= begin - 1 && x <= begin + width + 1; });
	}

	hoverAt(x, y) {
		const i = this.markerAt(x, y), row = i === undefined ? null : this.app.markers.get(i);
		return row && [row.name, `${row.duration ? `${seconds(row.duration)} ` : ''}at ${seconds(row.start)}`, row.thread.whole, ...row.fields.split('; ')];
	}

	clickAt(x, y) {
		this.view.choose(this.markerAt(x, y) ?? null);
		this.view.draw();
	}

	// A click on a name shows that kind alone, with a row for each of what it is about, or all again.
	pressName(y) {
		const group = this.view.groups.findLast(({top}) => y >= top);
		if (group)
			this.app.change({markerKind: this.app.state.markerKind ? '' : group.name}, {isView: true});
	}
}

export class MarkerChart extends MarkerView {
	constructor(app) {
		super(app);
		this.chart = new MarkerCanvas(app, this);
		this.scroller = make('div', {class: 'scroller', tabindex: -1}, this.chart.space);
		this.chart.scroller = this.scroller;
		this.element = make('section', {id: 'chart', 'aria-label': 'Marker chart'}, this.bar, make('div', {class: 'beside'}, this.scroller, this.detail));
	}

	file() {
		return this.chart.file();
	}

	labelOf(i) {
		const {fields, thread} = this.app.markers.get(i);
		return markerLabel(fields) || thread.title;
	}

	// With the user's own function.
	groupOf(i) {
		const {engine, markers} = this.app, [cause] = markers.get(i).causes;
		return [this.labelOf(i), cause && engine.ownFunction(cause.cause)].filter(Boolean).join(' · ');
	}

	// Groups rows by name or, for one kind, by subject, as the peer of connections, in order of
	// their starts. Each group has as many lanes as simultaneous markers.
	layOut() {
		const {markers} = this.app, {columns, rows} = markers;
		if (this.key === markers.key && this.version === markers.version)
			return;
		Object.assign(this, {key: markers.key, version: markers.version});
		const groups = new Map(), isByLabel = this.app.state.markerKind && rows.length <= LABELLED_MAX;
		for (const i of rows) {
			let name = isByLabel ? this.groupOf(i) : columns.names.get(columns.name[i]);
			if (!groups.has(name) && groups.size >= GROUPS_MAX)
				name = 'others';
			if (!groups.has(name))
				groups.set(name, {name, lanes: [], ends: [], count: 0, time: 0});
			const group = groups.get(name), until = columns.start[i] + columns.duration[i];
			let lane = group.ends.findIndex((end) => end <= columns.start[i]);
			if (lane < 0)
				lane = Math.min(group.ends.length, LANES_MAX - 1);
			(group.lanes[lane] ??= []).push(i);
			group.ends[lane] = Math.max(until, group.ends[lane] ?? 0);
			group.count++;
			group.time += columns.duration[i];
		}
		this.groups = [...groups.values()];
		if (!isByLabel)
			this.groups.sort((a, b) => b.time - a.time || b.count - a.count);
		let top = AXIS + 2;
		for (const group of this.groups) {
			group.top = top;
			top += group.lanes.length * MARKER_ROW + 3;
		}
		this.height = top + 10;
	}

	draw() {
		const {chart, app} = this;
		void app.markers.rows;
		this.layOut();
		this.drawBar();
		chart.left = app.timeline.left;
		chart.width = this.scroller.clientWidth;
		chart.canvas.setAttribute('aria-label', `Markers over time: ${this.groups.map(({name, count}) => `${name} ${count}`).join(', ') || 'none'}; the table of markers has them as rows`);
		chart.paint(this.height);
	}
}
