// SPDX-License-Identifier: Apache-2.0
/** The samples for billing, run over a real ledger. May depend on everything but Weir's codecs. */
@NullMarked
package io.weir.e2e.samples;

import org.jspecify.annotations.NullMarked;
