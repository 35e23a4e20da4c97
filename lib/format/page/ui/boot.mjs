// SPDX-License-Identifier: MIT
// The only script of the page that is not packed: unpacks and runs the other one, whose hash is in
// the page's policy. On failure, the initial content stays and shows the reason.
import {readBlock} from './blocks.mjs';

try {
	const script = document.createElement('script');
	script.type = 'module';
	script.textContent = new TextDecoder().decode(await readBlock('prof-script', document.getElementById('prof-script')?.textContent ?? ''));
	document.body.append(script);
} catch (error) {
	document.getElementById('why').textContent = `This page cannot be shown: ${error.message}.`;
}
