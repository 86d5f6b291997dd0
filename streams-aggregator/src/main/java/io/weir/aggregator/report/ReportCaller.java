// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.javalin.http.Context;
import io.weir.access.AccessHandler;
import io.weir.access.Grant;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/**
 * The caller of a report. Not thread-safe.
 *
 * @param name identity of the caller for the fair scheduling of reports, which consists of the
 *     token's name and the token's clients
 * @param isGone returns whether the caller has closed the connection; never blocks
 */
record ReportCaller(String name, BooleanSupplier isGone) {
  /** Returns the caller of a request. */
  static ReportCaller of(Context ctx) {
    Grant grant = AccessHandler.grantOf(ctx.req()::getAttribute);
    CallerConnection connection =
        (CallerConnection)
            Objects.requireNonNull(ctx.req().getAttribute(CallerConnection.ATTRIBUTE));
    return new ReportCaller(grant.name() + new TreeSet<>(grant.clients()), connection::isClosed);
  }
}
