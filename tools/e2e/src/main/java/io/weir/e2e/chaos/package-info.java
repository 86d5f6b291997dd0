// SPDX-License-Identifier: Apache-2.0
/** Runs Weir as separate processes under load and faults, and audits the responses. */
@NullMarked
package io.weir.e2e.chaos;

import org.jspecify.annotations.NullMarked;
