// SPDX-License-Identifier: MIT
// Prints what an expression over a page's engine is: node values.mjs PAGE EXPRESSION...
import { openPage } from './page_file.mjs';

const [path, ...expressions] = process.argv.slice(2), engine = await openPage(path);
for (const expression of expressions)
	console.log(String(new Function('engine', `return ${expression}`)(engine)));
