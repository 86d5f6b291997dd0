// SPDX-License-Identifier: Apache-2.0
/**
 * Traces of checks, sent to an OpenTelemetry collector: selects the requests, creates their spans,
 * and sends them without ever delaying a call. Only this package depends on OpenTelemetry. It
 * depends neither on HTTP servers nor on gRPC.
 */
@NullMarked
package io.weir.ingest.trace;

import org.jspecify.annotations.NullMarked;
