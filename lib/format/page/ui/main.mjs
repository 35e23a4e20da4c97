// SPDX-License-Identifier: MIT
import {DATA_BLOCKS, readBlock} from './blocks.mjs';
import {Engine} from './engine.mjs';
