// SPDX-License-Identifier: Apache-2.0
/**
 * Traces of checks. This package selects requests, creates their spans, and sends them to an
 * OpenTelemetry collector without delaying a call. Only this package depends on OpenTelemetry. The
 * package depends neither on an HTTP server nor on gRPC.
 */
@NullMarked
package io.weir.ingest.trace;

import org.jspecify.annotations.NullMarked;
