# SPDX-License-Identifier: MIT
# pthread-to-holdfast.sed - change a program's pthread mutexes and condition variables to Holdfast's:
#
#     sed -i.orig -f pthread-to-holdfast.sed *.c *.h
#
# Whatever means something else afterwards becomes a compile error, whose identifier says what to do: the result of trylock,
# timed operations, attributes. A result that is used (if (pthread_mutex_lock(&m) != 0)) becomes 0, since hf_mutex_lock()
# cannot fail and returns nothing; where the argument has parentheses within parentheses, it is an error. Functions that are not
# named here stay pthread's. docs/guide/pthread.md has each call.

# The header is added to each file that includes pthread.h.
s|^\([[:space:]]*#[[:space:]]*include[[:space:]]*\)<pthread\.h>.*|&\
\1<holdfast/cond.h>\
\1<holdfast/mutex.h>\
\1<holdfast/rwlock.h>|

# Types and initialisers. Memory that is all zero bytes is an unlocked mutex, too.
s/\bpthread_mutex_t\b/hf_mutex_t/g
s/\bpthread_cond_t\b/hf_cond_t/g
s/\bPTHREAD_MUTEX_INITIALIZER\b/HF_MUTEX_INIT/g
s/\bPTHREAD_COND_INITIALIZER\b/HF_COND_INIT/g
s/\bpthread_rwlock_t\b/hf_rwlock_t/g
s/\bPTHREAD_RWLOCK_\(WRITER_NONRECURSIVE_\)\?INITIALIZER\(_NP\)\?\b/HF_RWLOCK_INIT/g
s/\bPTHREAD_\(RECURSIVE\|ERRORCHECK\|ADAPTIVE\)_MUTEX_INITIALIZER_NP\b/TODO_there_is_no_such_mutex_see_the_guide/g

# Where the result is used, it is 0.
s/\([=(!|&]\|\breturn\)\([[:space:]]*\)pthread_\(mutex\|cond\|rwlock\)_init[[:space:]]*(\(\([^,;()]\|([^()]*)\)*\),[[:space:]]*\(NULL\|0\|nullptr\))/\1\2(hf_\3_init(\4), 0)/g
s/\([=(!|&]\|\breturn\)\([[:space:]]*\)pthread_\(mutex\|cond\|rwlock\)_destroy[[:space:]]*(\(\([^()]\|([^()]*)\)*\))/\1\2((void)(\4), 0)/g
s/\([=(!|&]\|\breturn\)\([[:space:]]*\)pthread_\(mutex_lock\|mutex_unlock\|cond_wait\|cond_signal\|cond_broadcast\)[[:space:]]*(\(\([^()]\|([^()]*)\)*\))/\1\2(hf_\3(\4), 0)/g

# init without attributes; destroy does nothing.
s/\bpthread_\(mutex\|cond\|rwlock\)_init[[:space:]]*(\([^,;]*\),[[:space:]]*\(NULL\|0\|nullptr\))/hf_\1_init(\2)/g
s/\bpthread_\(mutex\|cond\|rwlock\)_init[[:space:]]*(/(TODO_attributes_become_types_see_the_guide, /g
s/\bpthread_\(mutex\|cond\|rwlock\)_destroy[[:space:]]*(/(void)(/g

# The same meaning, no result.
s/\bpthread_mutex_\(lock\|unlock\)\b/hf_mutex_\1/g
s/\bpthread_cond_\(wait\|signal\|broadcast\)\b/hf_cond_\1/g

s/\bpthread_rwlock_rdlock\b/hf_rwlock_read_lock/g
s/\bpthread_rwlock_wrlock\b/hf_rwlock_write_lock/g

# Another meaning.
s/\bpthread_rwlock_unlock[[:space:]]*(/(TODO_hf_rwlock_read_unlock_or_hf_rwlock_write_unlock, /g
s/\bpthread_rwlock_try\(rd\|wr\)lock[[:space:]]*(/(TODO_hf_rwlock_trylock_which_returns_true_if_it_has_locked, /g
s/\bpthread_rwlock_\(timed\|clock\)\(rd\|wr\)lock[[:space:]]*(/(TODO_hf_rwlock_lock_timeout_with_nanoseconds_from_now, /g
s/\bpthread_mutex_trylock[[:space:]]*(/(TODO_hf_mutex_trylock_which_returns_true_if_it_has_acquired, /g
s/\bpthread_mutex_\(timed\|clock\)lock[[:space:]]*(/(TODO_hf_mutex_lock_timeout_with_nanoseconds_from_now, /g
s/\bpthread_cond_\(timed\|clock\)wait[[:space:]]*(/(TODO_hf_cond_wait_until_which_returns_false_at_the_deadline, /g
