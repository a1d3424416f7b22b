/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef HANDOVER_STRICT_H
#define HANDOVER_STRICT_H

void strict_lock(void);
void strict_unlock(void);

#endif
