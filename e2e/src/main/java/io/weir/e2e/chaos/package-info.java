// SPDX-License-Identifier: Apache-2.0
/** Weir as separate processes, under load and faults, and the audit of what was answered. */
@NullMarked
package io.weir.e2e.chaos;

import org.jspecify.annotations.NullMarked;
