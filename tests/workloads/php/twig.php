<?php
// SPDX-License-Identifier: MIT
// What tree.php includes again and again.
return Known\included();
