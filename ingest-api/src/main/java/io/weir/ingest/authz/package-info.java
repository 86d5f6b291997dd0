// SPDX-License-Identifier: Apache-2.0
/**
 * Reads calls from the header fields of a gateway: the client, its address, and the route template
 * that the call matches. Independent of any HTTP server; only {@code http} uses it.
 */
@NullMarked
package io.weir.ingest.authz;

import org.jspecify.annotations.NullMarked;
