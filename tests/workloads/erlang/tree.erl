%% SPDX-License-Identifier: MIT
%% Calls functions in a known tree: tests/erlang_truth.py has it. Calls are not the last thing that a
%% function does, unless the tree says so, and are written on the line that names what they call.
-module(tree).
-export([start/1, main/1, caught/1, applied/1, nap/1]).

start([Seconds]) ->
    main(list_to_float(atom_to_list(Seconds))),
    halt().

main(Seconds) ->
    End = used() + round(Seconds * 1000),
    napping(3),
    R = rounds(End, 0),
    R + 1.

rounds(End, N) ->
    N1 = N + scenes(N),
    case used() < End of
        true -> rounds(End, N1);
        false -> N1
    end.

%% CPU time in ms: of wall time, a busy machine leaves little.
used() -> element(1, erlang:statistics(runtime)).

scenes(N) ->
    A = recursing(40),
    B = mapping(N),
    C = folding(),
    D = catching(),
    E = applying(),
    F = many(),
    G = building(),
    H = matching(),
    I = collecting(),
    J = spawning(),
    A + B + C + D + E + F + G + H + I + J.

recursing(0) -> 1 + bottom();
recursing(N) -> 1 + recursing(N - 1).

bottom() -> spin(400) + 1.

mapping(N) ->
    L = lists:map(fun(X) -> each(X) + N end, [1, 2, 3]),
    length(L).

each(X) -> spin(300) + X.

folding() ->
    1 + lists:foldl(fun(X, S) -> S + folded(X) end, 0, [1, 2, 3]).

folded(X) -> spin(300) + X.

catching() ->
    V = try caught(30) catch throw:T -> rescued(T) end,
    V + 1.

caught(0) -> throw(spin(300));
caught(N) -> caught(N - 1) + 1.

rescued(T) -> spin(300) + T.

applying() -> 1 + apply(?MODULE, applied, [3]).

applied(X) -> spin(300) + X.

%% A frame of many words, with variables that a call has to keep.
many() ->
    A = one(1), B = one(2), C = one(3), D = one(4), E = one(5), F = one(6), G = one(7), H = one(8),
    I = one({A, B}), J = one([C | D]), K = one({E, F, G}), L = one(12), M = one(13), N = one(14),
    wide(A + B + C, D + E + F) + size({A, B, C, D, E, F, G, H, I, J, K, L, M, N}).

one(X) -> spin(20), X1 = erlang:phash2(X), X1.

wide(X, Y) -> spin(300) + X - Y.

%% C, and the collection of garbage.
building() ->
    L = built(200, []),
    length(L) + byte_size(term_to_binary(L)) + length(sorted(L)) + reversed(L).

built(0, L) -> L;
built(N, L) -> built(N - 1, [{N, N * 7 rem 1000, <<N:32>>} | L]).

sorted(L) ->
    S = lists:sort(L),
    [hd(S) | tl(S)].

reversed(L) ->
    R = lists:reverse(L) ++ binary_to_list(list_to_binary([byte_size(B) || {_, _, B} <- L])),
    length(R).

matching() ->
    B = binary:copy(<<"abcdefgh">>, 200),
    N = matched(B, 0),
    N + length(binary:matches(B, <<"ef">>)).

matched(<<C, R/binary>>, N) -> matched(R, N + C);
matched(<<>>, N) -> N.

collecting() ->
    T = ets:new(t, [set]),
    filled(T, 100),
    S = ets:foldl(fun({K, V}, A) -> A + summed(K, V) end, 0, T),
    ets:delete(T),
    S.

filled(_, 0) -> ok;
filled(T, N) -> ets:insert(T, {N, [N]}), filled(T, N - 1).

summed(K, [V]) -> spin(10) + K - V.

%% A process of its own.
spawning() ->
    Self = self(),
    P = spawn(fun() -> Self ! {self(), child(20)} end),
    receive {P, R} -> R end.

child(0) -> 1 + grandchild();
child(N) -> 1 + child(N - 1).

grandchild() -> spin(300) + 1.

napping(0) -> ok;
napping(N) -> nap(20), napping(N - 1).

nap(Ms) -> timer:sleep(Ms), ok.

spin(N) -> spin(N, 0).

spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 31 + N) band 16#ffffff).
