-- A task keeps the moment of the end that its agent was shown, in its sealed body (`endShown`): what is recorded of the task
-- later does not move it. No table changes. The step keeps earlier versions, which do not know that member, from opening a
-- registry that may have it.

SELECT 1;
