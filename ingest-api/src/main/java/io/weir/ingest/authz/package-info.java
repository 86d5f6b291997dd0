// SPDX-License-Identifier: Apache-2.0
/**
 * Calls that a gateway describes by header fields: who calls, from which address, and which
 * template of a route the call fits. Knows no HTTP server; only {@code http} uses it.
 */
@NullMarked
package io.weir.ingest.authz;

import org.jspecify.annotations.NullMarked;
