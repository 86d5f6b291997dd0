// SPDX-License-Identifier: Apache-2.0
/**
 * Traces of checks, sent to a collector of OpenTelemetry: which requests are traced, their spans,
 * and how these are sent without ever delaying a call. The only package that knows OpenTelemetry;
 * knows neither HTTP servers nor gRPC.
 */
@NullMarked
package io.weir.ingest.trace;

import org.jspecify.annotations.NullMarked;
