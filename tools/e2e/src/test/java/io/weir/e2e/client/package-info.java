// SPDX-License-Identifier: Apache-2.0
/** The client for Java against real nodes. May depend on everything. */
@NullMarked
package io.weir.e2e.client;

import org.jspecify.annotations.NullMarked;
