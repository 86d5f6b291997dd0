// SPDX-License-Identifier: Apache-2.0
/**
 * Real processes with little memory against callers that bring very much of something. May depend
 * on everything.
 */
@NullMarked
package io.weir.e2e.limits;

import org.jspecify.annotations.NullMarked;
