// SPDX-License-Identifier: MIT
// Reads and shows the page's data; on failure, the initial content stays and shows the reason.
import {dataBlocks, feedBlock, readBlock} from './blocks.mjs';
import {Engine} from './engine.mjs';
import {Comparison} from './compare.mjs';
import {App} from './app.mjs';

async function start() {
	const text = (id) => document.getElementById(id)?.textContent ?? '';
	const engine = await Engine.start(await readBlock('prof-engine', text('prof-engine')));
	for (const id of dataBlocks((name) => document.getElementById(name)))
		await feedBlock(id, text(id), engine);
	engine.open();
	const compared = document.getElementById('prof-comparison');
	const comparison = compared && new Comparison(JSON.parse(new TextDecoder().decode(await readBlock('prof-comparison', compared.textContent))));
	window.profPage = new App(engine, comparison);
}

start().catch((error) => {
	document.getElementById('why').textContent = `This page cannot be shown: ${error.message}.`;
});
