// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.javalin.http.Context;
import org.jspecify.annotations.Nullable;

/**
 * How a request came, for asking other aggregators on its behalf.
 *
 * @param isForwarded whether another aggregator asks, which is not asked in turn
 * @param authorization the field Authorization, with which the others are asked; null if the
 *     request has none
 */
record Asked(boolean isForwarded, @Nullable String authorization) {
  static Asked of(Context ctx) {
    return new Asked(ctx.header(PeerReports.FORWARDED_HEADER) != null, ctx.header("Authorization"));
  }
}
