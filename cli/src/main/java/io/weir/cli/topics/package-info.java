// SPDX-License-Identifier: Apache-2.0
/** The commands {@code topics} and {@code ledger}. */
@NullMarked
package io.weir.cli.topics;

import org.jspecify.annotations.NullMarked;
