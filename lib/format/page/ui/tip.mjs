// SPDX-License-Identifier: MIT
// The tooltip; the status line shows the same text to users without a pointer.
import {make} from './dom.mjs';

export class Tip {
	constructor() {
		this.element = make('div', {id: 'tip', 'aria-hidden': 'true', hidden: true});
	}

	// The first line is a title; empty ones are left out.
	show(event, lines) {
		const {element} = this, [title, ...rest] = lines.filter(Boolean);
		element.replaceChildren(make('b', {}, title.slice(0, 300)), ...rest.map((line) => make('div', {}, line.slice(0, 300))));
		element.hidden = false;
		const {offsetWidth: width, offsetHeight: height} = element;
		const left = Math.max(2, Math.min(event.clientX + 14, window.innerWidth - width - 4)), below = event.clientY + 18;
		element.style.left = `${left}px`;
		element.style.top = `${below + height < window.innerHeight ? below : Math.max(2, event.clientY - height - 12)}px`;
	}

	hide() {
		this.element.hidden = true;
	}
}
