// SPDX-License-Identifier: Apache-2.0
/**
 * Why a request was not answered as asked: one set of problems for the check API and for the
 * reports API, each with its page. Depends on a JSON library alone.
 */
@NullMarked
package io.weir.topics.problem;

import org.jspecify.annotations.NullMarked;
