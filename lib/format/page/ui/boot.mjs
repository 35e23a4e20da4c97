// SPDX-License-Identifier: MIT
// The one script of the page that is not packed: it unpacks the other, whose hash the page's policy
// has, and runs it. On failure the first content stays, and says why.
import {readBlock} from './blocks.mjs';

try {
	const script = document.createElement('script');
	script.type = 'module';
	script.textContent = new TextDecoder().decode(await readBlock('prof-script', document.getElementById('prof-script')?.textContent ?? ''));
	document.body.append(script);
} catch (error) {
	document.getElementById('why').textContent = `This page cannot be shown: ${error.message}.`;
}
