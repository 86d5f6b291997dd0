// SPDX-License-Identifier: Apache-2.0
/**
 * Reads calls from the header fields of a gateway's requests: the client, the caller's address and
 * the endpoint. Depends on no HTTP server. Only the package {@code http} uses this package.
 */
@NullMarked
package io.weir.ingest.authz;

import org.jspecify.annotations.NullMarked;
