// SPDX-License-Identifier: Apache-2.0
/**
 * Envoy's rate limit service, version 3. This package converts descriptors to calls, which the gate
 * decides, and returns the outcomes as descriptor statuses. Only this package depends on gRPC and
 * Protocol Buffers. The package does not depend on an HTTP server.
 */
@NullMarked
package io.weir.ingest.rls;

import org.jspecify.annotations.NullMarked;
