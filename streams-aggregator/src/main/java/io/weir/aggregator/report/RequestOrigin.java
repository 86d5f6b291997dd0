// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.javalin.http.Context;
import org.jspecify.annotations.Nullable;

/**
 * The properties of a request that are needed to forward the request to other aggregators.
 *
 * @param isForwarded whether another aggregator has forwarded the request; a forwarded request is
 *     not forwarded again
 * @param authorization value of the header {@code Authorization}; null if the request has none
 */
record RequestOrigin(boolean isForwarded, @Nullable String authorization) {
  static RequestOrigin of(Context ctx) {
    return new RequestOrigin(
        ctx.header(PeerReports.FORWARDED_HEADER) != null, ctx.header("Authorization"));
  }
}
