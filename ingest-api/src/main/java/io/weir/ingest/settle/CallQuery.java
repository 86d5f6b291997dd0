// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/**
 * The call that is looked for.
 *
 * @param client whose call
 * @param id the call's id
 * @param position where its answer said it stands; null when not known
 */
public record CallQuery(String client, String id, @Nullable UsagePosition position) {}
