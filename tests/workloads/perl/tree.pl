# SPDX-License-Identifier: MIT
# Calls subs in a known tree: tests/perl_truth.py has it. Calls are written on the line that names
# what they call.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);
use List::Util qw(first reduce);

# CPU time: how many samples there are must not depend on what else the machine does.
my $clock = CLOCK_PROCESS_CPUTIME_ID;

sub now { clock_gettime($clock) }

package Weighed {
	use overload "<=>" => \&compare, '""' => sub { Tree::stringified() };

	sub new { bless {weight => $_[1]}, $_[0] }

	sub compare {
		my ($left, $right) = @_;
		weigh();
		$left->{weight} <=> $right->{weight};
	}

	sub weigh { Tree::spin() }

	sub TIESCALAR { bless {}, shift }

	sub FETCH { fetched() }

	sub fetched { Tree::spin() }

	sub DESTROY { destroyed() }

	sub destroyed { Tree::spin(50) }
}

package Tree {
	our $AUTOLOAD;

	sub spin {
		my $count = shift // 400;
		my $sum = 0;
		while ($count > 0) {
			$sum += $count;
			$count--;
		}
		$sum;
	}

	sub recursing { recurse(40) }

	sub recurse {
		my $depth = shift;
		return bottom() if $depth == 1;
		my $found = recurse($depth - 1);
		$found;
	}

	sub bottom { my $sum = spin(); $sum }

	sub sorting {
		my @sorted = sort { key($a) <=> key($b) } 3, 1, 4, 1, 5;
		scalar @sorted;
	}

	sub key { spin(); -$_[0] }

	sub by_key { key($a) <=> key($b) }

	sub sorting_by_name {
		my @sorted = sort by_key 3, 1, 4, 1, 5;
		scalar @sorted;
	}

	sub overloading {
		my @weighed = map { Weighed->new($_) } 3, 1, 2;
		my $more = $weighed[0] <=> $weighed[1]; # compare
		$more;
	}

	sub stringifying {
		my $weighed = Weighed->new(1);
		my $text = "$weighed"; # __ANON__
		$text;
	}

	sub stringified { spin() }

	sub tying {
		tie my $value, "Weighed";
		my $read = $value; # FETCH
		$read;
	}

	sub finding {
		my $found = List::Util::first { added($_) > 1e9 } 1, 2, 3;
		$found;
	}

	sub reducing {
		my $sum = List::Util::reduce { $a + added($b) } 1, 2, 3;
		$sum;
	}

	sub added { spin() & $_[0] }

	my $closure = sub { closed(shift) };

	sub closing {
		$closure->(400); # __ANON__
		1;
	}

	sub closed { spin(shift) }

	sub missing { Tree->absent; 1 }

	sub AUTOLOAD { handled() }

	sub handled { spin() }

	sub catching {
		eval { throwing(12) };
		rescued();
		1;
	}

	sub throwing {
		my $depth = shift;
		spin();
		die "deep\n" if $depth == 0;
		throwing($depth - 1);
		1;
	}

	sub rescued { spin() }

	sub sorting_with_errors {
		my @sorted = sort { guarded($a) <=> guarded($b) } 2, 1, 3;
		scalar @sorted;
	}

	sub guarded {
		my $key = shift;
		eval { failing(); 1 };
		after_error();
		$key;
	}

	sub failing { spin(); die "failed\n" }

	sub after_error { spin(); 1 }

	sub evaluating {
		my $value = eval "\n\nin_text()";
		$value;
	}

	sub in_text { spin() }

	sub matching {
		"aaa" =~ /a(?{ matched() })aa/;
		1;
	}

	sub matched { spin() }

	sub replacing {
		(my $text = "abc") =~ s/(.)/replaced($1)/ge;
		$text;
	}

	sub replaced { spin(); uc shift }

	sub going { goto &gone }

	sub gone { spin() }
}

my @scenes = qw(recursing sorting sorting_by_name overloading stringifying tying finding reducing
	closing missing catching sorting_with_errors evaluating matching replacing going);

sub scenes {
	no strict "refs";
	for my $name (@scenes) {
		&{"Tree::$name"}(); # scene
	}
}

sub work {
	my $till = now() + shift;
	for (;;) {
		last if now() > $till;
		scenes();
	}
}

sub nap { select undef, undef, undef, 0.01 }

sub napping {
	for (1 .. 20) {
		nap();
	}
}

work($ARGV[0] // 1);
napping();
