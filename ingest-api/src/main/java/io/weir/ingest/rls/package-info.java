// SPDX-License-Identifier: Apache-2.0
/**
 * Envoy's rate limit service, version 3: descriptors are read as calls, which the gate decides, and
 * the verdicts are told as the statuses of descriptors. The only package that knows gRPC and
 * Protocol Buffers; knows no HTTP server.
 */
@NullMarked
package io.weir.ingest.rls;

import org.jspecify.annotations.NullMarked;
