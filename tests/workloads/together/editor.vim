" SPDX-License-Identifier: MIT
" An editor that could run several languages runs Python.
py3 << EOF
import time
def python_leaf(rounds):
    total = 0
    for i in range(rounds):
        total = (total * 31 + i) & 0xffffff
    return total
EOF
function! Part()
  return py3eval('python_leaf(20000)')
endfunction
let begin = reltime()
while reltimefloat(reltime(begin)) < 2
  call Part()
endwhile
qa!
