// SPDX-License-Identifier: Apache-2.0
/**
 * The ledger in foreign billing systems: databases and billing services. May depend on everything.
 */
@NullMarked
package io.weir.e2e.billing;

import org.jspecify.annotations.NullMarked;
