// SPDX-License-Identifier: Apache-2.0
/**
 * A client of Weir's check API. The package depends only on the JDK's HTTP client and Jackson, and
 * on no other module of Weir.
 */
@NullMarked
package io.weir.client;

import org.jspecify.annotations.NullMarked;
