// SPDX-License-Identifier: MIT
// Information about the profile: how it was recorded, its losses, and the cost of recording.
import {bytes, make} from './dom.mjs';

function shown(value, format) {
	const number = Number(value);
	if (value === '' || Number.isNaN(number))
		return value;
	switch (format) {
	case 'bytes': return bytes(number);
	case 'percentage': return `${(100 * number).toFixed(1)} %`;
	case 'integer': return number.toLocaleString('en-US');
	case 'duration': case 'milliseconds': return `${number.toLocaleString('en-US', {maximumFractionDigits: 3})} ms`;
	case 'microseconds': return `${number} µs`;
	case 'nanoseconds': return `${number} ns`;
	case 'seconds': return `${number} s`;
	default: return value;
	}
}

const section = (title, rows) => make('section', {class: 'facts'}, make('h2', {}, title),
	make('dl', {}, ...rows.map(([label, value]) => make('div', {}, make('dt', {}, label), make('dd', {}, value)))));

export class InfoView {
	constructor(app) {
		this.app = app;
		this.element = make('section', {id: 'info', class: 'scroller', tabindex: 0, 'aria-label': 'Information'});
	}

	draw() {
		const {engine} = this.app, meta = engine.meta(), groups = new Map();
		for (const row of engine.facts()) {
			if (!groups.has(row.section))
				groups.set(row.section, []);
			groups.get(row.section).push([row.label, shown(row.value, row.format)]);
		}
		const about = [['Recorded', engine.started ? new Date(engine.started / 1e6).toLocaleString() : ''], ['Command', meta.commandLine],
			['Imported from', meta.importedFrom],
			['System', meta.os], ['Distribution', meta.distribution], ['CPU', meta.cpuName],
			['Interval', engine.interval ? `${(engine.interval / 1e6).toFixed(3)} ms` : ''],
			['Threads', String(engine.threads.length)]].filter(([, value]) => value);
		this.element.replaceChildren(make('p', {}, engine.summary), section('Profile', about),
			...[...groups].map(([title, rows]) => section(title, rows)));
	}

	text() {
		return this.element.innerText;
	}
}
